// The Model Context Protocol: JSON-RPC messages in, answers out, for both ways to speak it: with a
// handshake (revisions 2025-06-18 and 2025-11-25), and without (2026-07-28), where each request
// says its revision. Batches, which only 2025-03-26 has, are refused.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "mcp/endpoint.h"
#include "mcp/json.h"
#include "mcp/tools.h"

namespace stator::mcp {

inline constexpr std::string_view kModernRevision = "2026-07-28";
inline constexpr std::string_view kLatestWithHandshake = "2025-11-25";
// A longer message is refused: the JSON of an item of 400 KB fits, whatever its escapes.
inline constexpr size_t kMostMessageBytes = 4 << 20;

// Headers of a request over HTTP; empty where absent.
struct HttpHeaders {
  std::string_view revision;  // MCP-Protocol-Version
  std::string_view method;    // Mcp-Method
  std::string_view name;      // Mcp-Name
};

struct Answer {
  std::string text;       // one line; empty: the message is a notification
  int http_status = 200;  // 202 for a notification
  bool plays = false;     // nothing was done: the message calls a tool that plays
};

// Without state between messages. Thread-safe.
class Protocol {
 public:
  // Both must outlive it. `version` is that of this program.
  Protocol(const EndpointSettings& settings, const Clock& clock, std::string version)
      : settings_(settings), clock_(clock), version_(std::move(version)) {}

  // Answers a message. `http` is null over stdio. Blocks while a tool runs, for at most the time
  // that EndpointSettings allow plus the time of a simulation. If `may_play` is false, tools that
  // play simulations are not run, and Answer::plays is set: the calling thread must not be occupied
  // for seconds.
  Answer Handle(std::string_view message, const HttpHeaders* http, bool may_play = true) const;
  // Returns the answer to a message that is longer than kMostMessageBytes.
  static Answer RefuseTooLong();

 private:
  struct Request;
  static bool Plays(const Request& request);
  Result<std::string> Dispatch(const Request& request, const HttpHeaders* http) const;
  Status CheckModern(const Request& request, const HttpHeaders* http) const;
  Result<std::string> Initialize(const Request& request) const;
  std::string Discover() const;
  std::string ListTools(const Request& request) const;
  Result<std::string> CallTool(const Request& request) const;
  std::string ServerInfo() const;
  std::string Instructions() const;

  const EndpointSettings& settings_;
  const Clock& clock_;
  const std::string version_;
};

}  // namespace stator::mcp
