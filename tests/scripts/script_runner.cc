// script_runner memory|rocksdb|http|shared|rados [--show] FILE.ddb...
//
// Runs scripts, each on an empty store, and prints what was not as expected; exits with 1 if
// anything was. --show prints every answer. Besides what a script says, every answer is checked for
// its CRC, its request id, and every error for its status and the prefix of its type.
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "base/compress.h"
#include "base/log.h"
#include "host.h"
#include "match.h"
#include "script.h"
#include "simdjson.h"

namespace stator::scripts {
namespace {

// The operations of DynamoDB Streams are an API of their own.
std::string TargetOf(const std::string& operation) {
  for (const std::string_view streams :
       {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}) {
    if (operation == streams) return "DynamoDBStreams_20120810." + operation;
  }
  return "DynamoDB_20120810." + operation;
}

// On RocksDB the store is also reopened after this number of steps, wherever that falls.
constexpr int kReopenEvery = 40;

std::string Short(std::string_view text) {
  if (text.size() <= 600) return std::string(text);
  return fmt::format("{}... ({} bytes)", text.substr(0, 600), text.size());
}

std::string HeaderOf(const Answer& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers) {
    if (key.size() == name.size() && ::strncasecmp(key.data(), name.data(), name.size()) == 0)
      return value;
  }
  return "";
}

// The prefix of an error's __type, as in wire-protocol.md.
std::string_view PrefixOf(std::string_view type) {
  if (type == "ValidationException") return "com.amazon.coral.validate#";
  constexpr std::string_view kModelled[] = {"ConditionalCheckFailedException",
                                            "ResourceNotFoundException",
                                            "ResourceInUseException",
                                            "LimitExceededException",
                                            "TableNotFoundException",
                                            "ProvisionedThroughputExceededException",
                                            "RequestLimitExceeded",
                                            "ItemCollectionSizeLimitExceededException",
                                            "InternalServerError",
                                            "TransactionCanceledException",
                                            "DuplicateItemException",
                                            "IdempotentParameterMismatchException",
                                            "ExpiredIteratorException",
                                            "TrimmedDataAccessException"};
  if (std::find(std::begin(kModelled), std::end(kModelled), type) != std::end(kModelled))
    return "com.amazonaws.dynamodb.v20120810#";
  return "com.amazon.coral.service#";
}

class ScriptRun {
 public:
  ScriptRun(std::string where, bool show) : where_(std::move(where)), show_(show) {}

  // Returns the number of failed steps, or the error that ended the run.
  Result<int> Run(const std::string& path) {
    std::ifstream file(path);
    if (!file) return ValidationError("cannot be read");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSIGN_OR_RETURN(const std::vector<Step> steps, ParseScript(text));
    if (steps.empty()) return ValidationError("has no steps");
    ASSIGN_OR_RETURN(host_, OpenHost(where_));
    int failed = 0;
    for (const Step& step : steps) {
      ++steps_;
      if (step.reopen || (where_ == "rocksdb" && steps_ % kReopenEvery == 0)) TRY(host_->Reopen());
      if (step.reopen) continue;
      if (!step.advance.empty()) {
        TRY(host_->Advance(step.advance));
        continue;
      }
      Status status = RunStep(step);
      // With several processes, the counters of global indexes follow a little later
      // (docs/differences.md).
      const bool shared = where_ == "rados" || where_ == "shared";
      for (int again = 0;
           shared && step.operation == "DescribeTable" && !status.ok() && again < 600; ++again) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        status = RunStep(step);
      }
      if (status.ok()) continue;
      ++failed;
      fmt::print("{}:{}: {} [{}]\n  {}\n  request: {}\n  answer {}: {}\n",
                 std::filesystem::path(path).filename().string(), step.line, step.operation, where_,
                 Short(status.error().message()), Short(question_.body), answer_.status,
                 Short(answer_.body));
    }
    TRY(host_->Check());
    return failed;
  }

  int steps() const { return steps_; }

 private:
  Status RunStep(const Step& step) {
    TRY(Compose(step));
    answer_ = host_->Ask(question_);
    if (show_)
      fmt::print("{}: {} {}\n{}\n\n", step.line, step.operation, answer_.status,
                 Short(answer_.body));
    TRY(CheckHeaders(step));
    switch (step.expect) {
      case Step::Expect::kText: {
        ASSIGN_OR_RETURN(std::string expected, Expand(step.expected, step.bindings, saved_));
        if (expected.ends_with("\\n")) expected.replace(expected.size() - 2, 2, "\n");
        if (answer_.body != expected)
          return ValidationError("expected the body " + Short(expected));
        return OkStatus();
      }
      case Step::Expect::kError: return CheckError(step);
      case Step::Expect::kJson: break;
    }
    if (answer_.status != 200 && !StatusIsExpected(step))
      return ValidationError("expected success");
    return CheckJson(step, step.expected, std::string(answer_.body));
  }

  Status Compose(const Step& step) {
    question_ = Question();
    question_.headers = {
        {"Content-Type", "application/x-amz-json-1.0"},
        {"X-Amz-Target", TargetOf(step.operation)},
        {"X-Amz-Date", "20261101T000000Z"},
        {"Authorization",
         "AWS4-HMAC-SHA256 Credential=AKID/20261101/us-east-1/dynamodb/aws4_request, "
         "SignedHeaders=host;x-amz-date, Signature=abc"}};
    for (const auto& [name, value] : step.headers) {
      if (name == "method") {
        question_.method = value;
        continue;
      }
      if (name == "target") {
        question_.target = value;
        continue;
      }
      std::erase_if(question_.headers, [&](const auto& header) { return header.first == name; });
      if (!value.empty()) question_.headers.emplace_back(name, value);
    }
    ASSIGN_OR_RETURN(question_.body, Expand(step.request, step.bindings, saved_));
    simdjson::dom::parser parser;
    if (!step.raw && parser.parse(question_.body).error() != simdjson::SUCCESS) {
      return ValidationError("the script's request is not JSON (and not raw)");
    }
    return OkStatus();
  }

  static bool StatusIsExpected(const Step& step) {
    return std::any_of(step.reply_headers.begin(), step.reply_headers.end(),
                       [](const HeaderLine& line) { return line.first == "status"; });
  }

  Status CheckHeaders(const Step& step) const {
    if (answer_.status == 0) return ValidationError("no answer");
    const std::string crc = HeaderOf(answer_, "x-amz-crc32");
    if (!crc.empty() && crc != std::to_string(Crc32(answer_.body)))
      return ValidationError("x-amz-crc32 is wrong: " + crc);
    const std::string id = HeaderOf(answer_, "x-amzn-RequestId");
    const std::string_view kIdCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (!id.empty() &&
        (id.size() != 52 || id.find_first_not_of(kIdCharacters) != std::string::npos)) {
      return ValidationError("x-amzn-RequestId is wrong: " + id);
    }
    if (question_.method == "POST" && answer_.status == 200 && (crc.empty() || id.empty())) {
      return ValidationError("x-amz-crc32 or x-amzn-RequestId is missing");
    }
    for (const auto& [name, value] : step.reply_headers) {
      const std::string found =
          name == "status" ? std::to_string(answer_.status) : HeaderOf(answer_, name);
      if (value == "*" ? found.empty() : found != value) {
        return ValidationError(
            fmt::format("expected {} to be \"{}\", got \"{}\"", name, value, found));
      }
    }
    return OkStatus();
  }

  Status CheckError(const Step& step) {
    simdjson::dom::parser parser;
    simdjson::dom::object body;
    std::string_view type;
    if (parser.parse(answer_.body).get(body) != simdjson::SUCCESS ||
        body["__type"].get(type) != simdjson::SUCCESS) {
      return ValidationError(
          fmt::format("expected {} {}, got no error", step.error_type, step.message));
    }
    ASSIGN_OR_RETURN(const std::string message, Expand(step.message, step.bindings, saved_));
    if (type != std::string(PrefixOf(step.error_type)) + step.error_type) {
      return ValidationError(fmt::format("expected {}{}: {}", PrefixOf(step.error_type),
                                         step.error_type, Short(message)));
    }
    const int status =
        step.error_type == "InternalServerError" || step.error_type == "InternalFailure" ? 500
                                                                                         : 400;
    if (!StatusIsExpected(step) && answer_.status != status)
      return ValidationError(fmt::format("expected HTTP status {}", status));
    const bool capital = step.error_type == "SerializationException" ||
                         step.error_type == "AccessDeniedException" ||
                         step.error_type == "TransactionCanceledException" ||
                         step.error_type == "IdempotentParameterMismatchException";
    const std::string_view member = capital ? "Message" : "message";
    std::string_view text;
    const bool present = body[member].get(text) == simdjson::SUCCESS;
    switch (step.message_rule) {
      case Step::Message::kAbsent:
        if (present) return ValidationError("expected no message");
        break;
      case Step::Message::kExact:
        if (!present || text != message)
          return ValidationError(fmt::format("expected {}: {}", step.error_type, Short(message)));
        break;
      case Step::Message::kPart:
        if (!present || text.find(message) == std::string_view::npos) {
          return ValidationError(fmt::format("expected {} ~ {}", step.error_type, Short(message)));
        }
        break;
    }
    if (step.expected.empty()) {
      const size_t members = present ? 2 : 1;
      return body.size() == members
                 ? OkStatus()
                 : Status(ValidationError("the error has members that are not expected"));
    }
    std::string rest = "{";
    for (const auto [key, value] : body) {
      if (key == "__type" || key == member) continue;
      rest += fmt::format("{}\"{}\":{}", rest.size() > 1 ? "," : "", key, simdjson::minify(value));
    }
    return CheckJson(step, step.expected, rest + "}");
  }

  Status CheckJson(const Step& step, const std::string& expected_text,
                   const std::string& actual_text) {
    simdjson::dom::parser expected_parser;
    simdjson::dom::parser actual_parser;
    simdjson::dom::element expected;
    simdjson::dom::element actual;
    ASSIGN_OR_RETURN(const std::string text, Expand(expected_text, step.bindings, saved_));
    if (expected_parser.parse(text).get(expected) != simdjson::SUCCESS)
      return ValidationError("the script expects something that is not JSON: " + text);
    if (actual_parser.parse(actual_text).get(actual) != simdjson::SUCCESS)
      return ValidationError("the answer is not JSON");
    const std::optional<std::string> difference = Match(expected, actual, step.operation, &saved_);
    if (difference) return ValidationError(*difference);
    return OkStatus();
  }

  const std::string where_;
  const bool show_;
  std::unique_ptr<Host> host_;
  Saved saved_;
  Question question_;
  Answer answer_;
  int steps_ = 0;
};

int Main(int argc, char** argv) {
  SetLogLevel(LogLevel::kOff);  // scripts provoke errors that the server logs
  std::vector<std::string> files;
  std::string where;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--show") {
      show = true;
    } else if (where.empty()) {
      where = argument;
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty()) {
    fmt::print(stderr,
               "usage: script_runner memory|rocksdb|http|shared|rados [--show] FILE.ddb...\n");
    return 2;
  }
  std::sort(files.begin(), files.end());
  int steps = 0;
  int failed = 0;
  for (const std::string& file : files) {
    ScriptRun run(where, show);
    const Result<int> result = run.Run(file);
    steps += run.steps();
    if (result.ok()) {
      failed += *result;
    } else {
      fmt::print("{}: {}\n", file, result.error().message());
      ++failed;
    }
  }
  fmt::print("{}: {} files, {} steps, {} failed\n", where, files.size(), steps, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace stator::scripts

int main(int argc, char** argv) { return stator::scripts::Main(argc, argv); }
