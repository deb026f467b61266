// A script: requests to send to Stator, and the expected answers. README.md describes the format
// for authors.
//
//   script    = { comment | directive | step }            blank lines separate them
//   comment   = "#" text                                  anywhere; the line is dropped
//   directive = "reopen"                                  restart the server on the same data
//             | "advance" DURATION                        move the clock (24h, 1d12h, 90) and run
//                                                         the chores due by then
//             | "table" NAME NAME:TYPE [NAME:TYPE] ["provisioned" R W]
//   step      = OPERATION ["raw"] ["for" VAR "=" A ".." B]
//               { ">" HEADER ":" value }                  request header; empty: leave it out
//               request
//               "----"
//               expected                                  ends at a blank line
//   expected  = { "<" HEADER ":" value }                  reply header ("*": any), or "< status: N"
//               ( json
//               | "!" TYPE [ ":" message | "~" part ] [json]   an error; json: its other members
//               | "=" text )                              the body, literally; a final \n is a
//                                                         line feed
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "expand.h"

namespace stator::scripts {

using HeaderLine = std::pair<std::string, std::string>;

struct Step {
  int line = 0;
  bool reopen = false;  // no other member is set then
  std::string advance;  // a duration; no other member is set then
  std::string operation;
  bool raw = false;   // the request need not be JSON
  Bindings bindings;  // of "for"
  std::vector<HeaderLine> headers;
  std::string request;  // not expanded
  std::vector<HeaderLine> reply_headers;
  enum class Expect { kJson, kError, kText };
  Expect expect = Expect::kJson;
  std::string error_type;
  enum class Message { kAbsent, kExact, kPart };
  Message message_rule = Message::kAbsent;
  std::string message;   // not expanded
  std::string expected;  // JSON or text, not expanded
};

// Returns the steps in order, with "for" unrolled. The error names the line.
Result<std::vector<Step>> ParseScript(std::string_view text);

}  // namespace stator::scripts
