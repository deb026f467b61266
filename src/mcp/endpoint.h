// Sends the tools' requests to a server, signed like those of an SDK.
//
// Read-only access is enforced here, below all tools. Reading and writing operations are different
// types, and without the permission to write no writing request is sent. A PartiQL statement is
// sent only if the server's own parser finds that it is a SELECT, with or without that permission.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/sigv4.h"
#include "base/clock.h"
#include "base/result.h"
#include "egress/client.h"
#include "egress/url.h"
#include "expr/statement.h"

namespace stator::mcp {

struct EndpointSettings {
  egress::Url api;
  egress::Url management;
  access::SigningKey key;
  std::string region = "us-east-1";
  std::shared_ptr<const egress::TlsTrust> trust;  // null without TLS
  bool allow_writes = false;
  int64_t call_micros = 30'000'000;  // of all requests of one tool's call
};

enum class Read { kListTables, kDescribeTable, kGetItem, kQuery, kScan };
enum class Change { kPutItem, kUpdateItem, kDeleteItem, kCreateTable };

// A SELECT; only ParseSelect makes one.
class Select {
 public:
  const expr::Statement& statement() const { return statement_; }
  const std::string& text() const { return text_; }
  // Returns the statement's parameters as a JSON array; empty if there are none.
  const std::string& parameters() const { return parameters_; }

 private:
  friend Result<Select> ParseSelect(std::string text, std::string parameters);
  expr::Statement statement_;
  std::string text_;
  std::string parameters_;
};
// `parameters` is the text of a JSON array of attribute values, or empty. kValidation, with a
// sentence for the caller, for another statement than SELECT and for what is none.
Result<Select> ParseSelect(std::string text, std::string parameters);

// Carries out one call of a tool: all of its requests together have call_micros. For one thread.
class Endpoint {
 public:
  // Both must outlive it.
  Endpoint(const EndpointSettings& settings, const Clock& clock);

  // The methods below send one request and return the body of the answer, a JSON text. kUnavailable
  // if there is no answer in time; kValidation with what the server said if it refused. They block.
  Result<std::string> Ask(Read operation, std::string_view body);
  // Runs a SELECT. `limit`: the maximum number of items that are read.
  Result<std::string> Run(const Select& select, int64_t limit, bool consistent,
                          std::string_view next_token);
  // Gets a page of the management calls. `path` is what follows /_stator/.
  Result<std::string> Look(std::string_view path);

  // These change something. kAccessDenied unless writes are allowed.
  Result<std::string> Do(Change operation, std::string_view body);
  Result<std::string> Set(std::string_view method, std::string_view path, std::string_view body);

  bool allows_writes() const { return settings_.allow_writes; }
  const Clock& clock() const { return clock_; }

 private:
  Result<std::string> Operate(std::string_view operation, std::string_view body);
  Result<std::string> Manage(std::string_view method, std::string_view path, std::string_view body);
  Result<egress::Reply> Send(const egress::Url& to, std::string_view method,
                             const std::string& target, std::string_view body,
                             std::string_view service, const egress::Headers& headers);
  Status CheckWrites() const;

  const EndpointSettings& settings_;
  const Clock& clock_;
  const int64_t deadline_;
};

// The path of a management call of a table, `rest` behind its name. kValidation for what is no name
// of a table.
Result<std::string> TablePath(std::string_view table, std::string_view rest);
// "name=value" for a query, encoded.
std::string QueryPart(std::string_view name, std::string_view value);

}  // namespace stator::mcp
