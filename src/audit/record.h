// One audited call, and its line in the log: a record in CloudTrail's shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/caller.h"
#include "guard/judgement.h"

namespace stator::audit {

inline constexpr std::string_view kDynamoDb = "dynamodb.amazonaws.com";
inline constexpr std::string_view kIam = "iam.amazonaws.com";
inline constexpr std::string_view kSts = "sts.amazonaws.com";
inline constexpr std::string_view kLambda = "lambda.amazonaws.com";
inline constexpr std::string_view kScaling = "application-autoscaling.amazonaws.com";
inline constexpr std::string_view kStator = "stator";

// A line is at most this long.
inline constexpr size_t kMaxLineBytes = 24 << 10;
// Parameters beyond it are left out, with their size.
inline constexpr size_t kMaxParameterBytes = 6 << 10;

struct Record {
  int64_t at_micros = 0;
  std::string_view source;  // one of the literals above
  std::string name;         // "CreateTable"
  bool read_only = false;
  bool data_event = false;
  // Null: the signature did not verify, or is not looked at.
  std::shared_ptr<const access::Caller> caller;
  // The caller's; without a caller the id that the request claims to be signed with.
  std::string key_id;
  std::string address;
  std::string user_agent;
  std::string parameters;  // a JSON object without item data; empty: none
  std::vector<std::string> resources;
  guard::Judgements judgements;
  bool enforced = true;  // false: a denial was served, as with --auth=warn
  std::vector<std::pair<std::string_view, std::string>> response;  // ids of what was made
  std::string error_code;                                          // empty: success
  std::string error_message;
  std::string request_id;

  // About the bytes that the record takes in memory.
  size_t weight() const;
};

// The common part of all records of a server.
struct Origin {
  std::string account;
  std::string region;
  std::string server;  // "host:port"
};

// Returns the line with its line feed, of at most kMaxLineBytes bytes. Text of clients is shown as
// AppendPrintable shows it.
std::string RenderLine(const Record& record, const Origin& origin, std::string_view event_id);

// Counts of records that were not written, by the operation's name.
using Dropped = std::map<std::string, int64_t, std::less<>>;
// Returns the line that stands where records are missing. `reason`: "the queue was full".
std::string RenderGap(int64_t at_micros, const Dropped& dropped, std::string_view reason,
                      const Origin& origin, std::string_view event_id);

// Returns the id that a request claims to be signed with as it may be shown: text that does not
// look like an access key may be a secret that stands in the wrong place.
std::string ShownKeyId(std::string_view claimed);

}  // namespace stator::audit
