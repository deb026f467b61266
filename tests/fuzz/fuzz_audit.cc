// libFuzzer: arbitrary bytes as every text of an audit record, and as a statement with a planted
// literal.
//
// Checked are: a record is one line of JSON within the bound, with the members that it must have;
// bytes of clients add no member; and of a statement's quoted text nothing is left.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "audit/record.h"
#include "audit/redact.h"
#include "simdjson.h"

namespace stator::audit {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckLine(const std::string& line) {
  Require(line.size() <= kMaxLineBytes && line.back() == '\n');
  Require(std::count(line.begin(), line.end(), '\n') == 1);
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  const simdjson::padded_string padded(line);
  Require(parser.parse(padded).get(root) == simdjson::SUCCESS);
  size_t names = 0;
  for (const auto& [key, ignored] : root) names += key == "eventName" ? 1 : 0;
  Require(names == 1);
}

void Run(std::string_view text) {
  const Origin origin{"111122223333", "us-east-1", "localhost:8000"};
  Record record;
  record.source = kDynamoDb;
  record.name = record.key_id = record.user_agent = record.error_message = record.request_id =
      std::string(text.substr(0, 600));
  auto caller = std::make_shared<access::Caller>();
  caller->kind = access::Principal::Kind::kRoleSession;
  caller->arn = caller->issuer_arn = caller->user_id = caller->id = caller->source_identity =
      std::string(text);
  caller->account = "111122223333";
  caller->issued_micros = 1'770'000'000'000'000;
  record.caller = caller;
  for (size_t i = 0; i < text.size() % 40; ++i) {
    record.resources.emplace_back(text.substr(i));
    record.judgements.Add({"dynamodb:GetItem", std::string(text.substr(i)), i % 2 == 0, false,
                           access::PolicyType::kIdentity, std::string(text), std::string(text), 0});
  }
  record.response.emplace_back("accessKeyId", std::string(text));
  CheckLine(RenderLine(record, origin, "id"));
  CheckLine(RenderGap(0, {{std::string(text), 1}}, "why", origin, "id"));
  Require(!ShownKeyId(text).empty() || text.empty());

  // Behind any text a quoted one is gone, whether that text has an open quote or not.
  std::string statement(text);
  for (const char quote : {'\'', '`'}) {
    std::string planted = statement;
    planted.append(1, quote).append("PLANTED").append(1, quote);
    const bool there = text.find("PLANTED") != std::string_view::npos;
    const bool balanced = text.find_first_of("'`\"-/") == std::string_view::npos;
    if (!there && balanced) Require(WithoutLiterals(planted).find("PLANTED") == std::string::npos);
  }
  const std::string redacted = WithoutLiterals(text);
  Require(std::none_of(redacted.begin(), redacted.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != ' '; }) ||
          redacted.find('"') != std::string::npos);
}

}  // namespace
}  // namespace stator::audit

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stator::audit::Run({reinterpret_cast<const char*>(data), std::min<size_t>(size, 8192)});
  return 0;
}
