#include "script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/time_text.h"

namespace stator::scripts {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  while (!(line = Trim(line)).empty()) {
    const size_t space = line.find(' ');
    words.emplace_back(line.substr(0, space));
    line.remove_prefix(std::min(line.size(), words.back().size()));
  }
  return words;
}

Result<HeaderLine> ParseHeader(std::string_view line) {
  const size_t colon = line.find(':', 1);
  if (colon == std::string_view::npos) return ValidationError("a header needs a colon");
  return HeaderLine(Trim(line.substr(1, colon - 1)), Trim(line.substr(colon + 1)));
}

// CreateTable for "table NAME pk:S [sk:N] [provisioned R W]".
Result<Step> TableStep(const std::vector<std::string>& words) {
  std::string definitions;
  std::string schema;
  size_t at = 2;
  for (; at < words.size() && words[at].find(':') != std::string::npos; ++at) {
    const size_t colon = words[at].find(':');
    const std::string name = words[at].substr(0, colon);
    definitions += fmt::format(R"({}{{"AttributeName":"{}","AttributeType":"{}"}})",
                               at > 2 ? "," : "", name, words[at].substr(colon + 1));
    schema += fmt::format(R"({}{{"AttributeName":"{}","KeyType":"{}"}})", at > 2 ? "," : "", name,
                          at > 2 ? "RANGE" : "HASH");
  }
  if (at == 2) return ValidationError("table NAME pk:TYPE [sk:TYPE] [provisioned R W]");
  std::string mode = R"("BillingMode":"PAY_PER_REQUEST")";
  if (at + 3 == words.size() && words[at] == "provisioned") {
    mode =
        fmt::format(R"("ProvisionedThroughput":{{"ReadCapacityUnits":{},"WriteCapacityUnits":{}}})",
                    words[at + 1], words[at + 2]);
  } else if (at != words.size()) {
    return ValidationError("table: what is " + words[at]);
  }
  Step step;
  step.operation = "CreateTable";
  step.request =
      fmt::format(R"({{"TableName":"{}","AttributeDefinitions":[{}],"KeySchema":[{}],{}}})",
                  words[1], definitions, schema, mode);
  step.expected = R"({"TableDescription":{"TableStatus":"CREATING","...":"..."}})";
  return step;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Step>> Run() {
    std::vector<Step> steps;
    while (NextLine()) {
      if (Trim(line_).empty()) continue;
      Result<std::vector<Step>> read = ReadOne();
      if (!read.ok())
        return ValidationError(fmt::format("{}: {}", number_, read.error().message()));
      for (Step& step : *read) steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  // Moves to the next line that is no comment.
  bool NextLine() {
    do {
      if (text_.empty()) return false;
      const size_t end = text_.find('\n');
      line_ = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++number_;
    } while (Trim(line_).starts_with('#'));
    return true;
  }

  Result<std::vector<Step>> ReadOne() {
    const std::vector<std::string> words = Words(line_);
    Step step;
    step.line = number_;
    if (words[0] == "reopen") {
      step.reopen = true;
      return std::vector<Step>{step};
    }
    if (words[0] == "advance") {
      if (words.size() != 2 || !ParseDuration(words[1])) {
        return ValidationError("advance DURATION, like 24h, 1d12h or 90");
      }
      step.advance = words[1];
      return std::vector<Step>{step};
    }
    if (words[0] == "table" && words.size() > 1) {
      ASSIGN_OR_RETURN(step, TableStep(words));
      step.line = number_;
      return std::vector<Step>{step};
    }
    step.operation = words[0];
    std::pair<std::string, std::pair<int, int>> range;
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "raw") {
        step.raw = true;
      } else if (words[i] == "for" && i + 1 < words.size()) {
        ASSIGN_OR_RETURN(range, ParseRange(words[++i]));
      } else {
        return ValidationError("an operation, raw or for v=A..B expected: " + words[i]);
      }
    }
    TRY(ReadRequest(&step));
    TRY(ReadExpected(&step));
    if (range.first.empty()) return std::vector<Step>{step};
    std::vector<Step> steps;
    for (int i = range.second.first; i <= range.second.second; ++i) {
      steps.push_back(step);
      steps.back().bindings.emplace_back(range.first, i);
    }
    return steps;
  }

  Status ReadRequest(Step* step) {
    bool body = false;
    while (NextLine()) {
      if (line_ == "----") return OkStatus();
      if (!body && line_.starts_with('>')) {
        ASSIGN_OR_RETURN(HeaderLine header, ParseHeader(line_));
        step->headers.push_back(std::move(header));
        continue;
      }
      if (body) step->request += '\n';
      step->request += line_;
      body = true;
    }
    return ValidationError("a step without ----");
  }

  Status ReadExpected(Step* step) {
    bool first = true;
    while (NextLine() && !Trim(line_).empty()) {
      if (line_.starts_with('<')) {
        ASSIGN_OR_RETURN(HeaderLine header, ParseHeader(line_));
        step->reply_headers.push_back(std::move(header));
        continue;
      }
      if (first && line_.starts_with('!')) {
        TRY(ReadError(step));
      } else if (first && line_.starts_with('=')) {
        step->expect = Step::Expect::kText;
        step->expected = line_.substr(std::min<size_t>(line_.size(), 2));
      } else {
        if (!step->expected.empty()) step->expected += '\n';
        step->expected += line_;
      }
      first = false;
    }
    if (first) return ValidationError("nothing is expected of this step");
    return OkStatus();
  }

  Status ReadError(Step* step) {
    step->expect = Step::Expect::kError;
    std::string_view rest = line_.substr(1);  // a message may end with spaces
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    size_t end = 0;
    while (end < rest.size() && std::isalpha(static_cast<unsigned char>(rest[end]))) ++end;
    step->error_type = rest.substr(0, end);
    // One space belongs to the notation, further ones to the message.
    rest.remove_prefix(end);
    if (step->error_type.empty()) return ValidationError("! without an error type");
    if (Trim(rest).empty()) return OkStatus();
    if (rest.starts_with(": ")) {
      step->message_rule = Step::Message::kExact;
      step->message = rest.substr(2);
    } else if (rest.starts_with(" ~")) {
      step->message_rule = Step::Message::kPart;
      step->message = Trim(rest.substr(2));
    } else {
      return ValidationError("! Type, ! Type: message or ! Type ~ part");
    }
    return OkStatus();
  }

  std::string_view text_;
  std::string_view line_;
  int number_ = 0;
};

}  // namespace

Result<std::vector<Step>> ParseScript(std::string_view text) { return Parser(text).Run(); }

}  // namespace stator::scripts
