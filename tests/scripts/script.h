// A script: steps to send to Stator and what it must answer. README.md has the format for people.
//
//   script    = { comment | directive | step }            blank lines separate them
//   comment   = "#" text                                  anywhere; the line is dropped
//   directive = "reopen"                                  stop the server and start it on the same
//                                                         data
//             | "advance" DURATION                        move the clock (24h, 1d12h, 90) and have
//                                                         done what is due then
//             | "table" NAME NAME:TYPE [NAME:TYPE] ["provisioned" R W]
//   step      = OPERATION ["raw"] ["for" VAR "=" A ".." B]
//               { ">" HEADER ":" value }                  request header; an empty value leaves it
//               out request "----" expected                   expected ends at a blank line
//   expected  = { "<" HEADER ":" value }                  reply header ("*": any), or "< status: N"
//               ( json
//               | "!" TYPE [ ":" message | "~" part ] [json]   an error; json: its members besides
//               type and message | "=" text )                              the body, literally; a
//               final \n is a line feed
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
  bool reopen = false;  // nothing else is set then
  std::string advance;  // a duration, and nothing else is set
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

// The steps in order, "for" unrolled. The error names the line.
Result<std::vector<Step>> ParseScript(std::string_view text);

}  // namespace stator::scripts
