#include "api/forwarded_entry.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/attribute_json.h"
#include "api/error_render.h"
#include "simdjson.h"
#include "table/table.h"

namespace stator::api {
namespace {

// Returns the code of an exception; kInternal if it is none of a request's.
ErrorCode CodeOf(std::string_view exception) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kUnavailable); ++code) {
    const auto one = static_cast<ErrorCode>(code);
    if (RenderError(Error(one, "")).name == exception) return one;
  }
  return ErrorCode::kInternal;
}

std::string MessageIn(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  std::string_view message;
  if (parser.parse(body).get(document) == simdjson::SUCCESS &&
      (document["message"].get(message) == simdjson::SUCCESS ||
       document["Message"].get(message) == simdjson::SUCCESS)) {
    return std::string(message);
  }
  return {};
}

std::optional<Status> OutcomeOf(const ForwardedAnswer& answer) {
  switch (answer.kind) {
    case ForwardedAnswer::Kind::kRefused: return std::nullopt;
    case ForwardedAnswer::Kind::kUnknown:
      return Status(Error(ErrorCode::kOutcomeUnknown,
                          "The server that ran the write does not answer. The write may or may "
                          "not have been applied."));
    case ForwardedAnswer::Kind::kAnswered: break;
  }
  if (answer.error.empty()) return OkStatus();
  return Status(Error(CodeOf(answer.error), MessageIn(answer.body)));
}

}  // namespace

bool ForwardEntry(Forwarding& forwarding, Executor& loop, const table::Table& table,
                  std::string_view key, bool put, model::ItemView item,
                  ops::WriteForwarder::EntryDone& done) {
  // The other process takes names as the default account's.
  if (table::IsOfOtherAccount(table.descriptor.name)) return false;
  const ops::WrittenItem written{&table, key};
  const WriteOwner owner = forwarding.OwnerOf({&written, 1});
  if (owner.process.empty()) return false;
  std::string body = "{\"TableName\":";
  AppendJsonString(&body, table.descriptor.name);
  body.append(put ? ",\"Item\":" : ",\"Key\":");
  AppendItemJson(&body, item);
  body.push_back('}');
  auto kept = std::make_shared<ops::WriteForwarder::EntryDone>(std::move(done));
  ForwardedDone answered = [kept, &loop](ForwardedAnswer answer) {
    PostAndStandIn(loop,
                   [kept, answer = std::move(answer)]() mutable { (*kept)(OutcomeOf(answer)); });
  };
  if (forwarding.Send(owner, {&written, 1},
                      put ? "DynamoDB_20120810.PutItem" : "DynamoDB_20120810.DeleteItem", body,
                      answered))
    return true;
  done = std::move(*kept);
  return false;
}

}  // namespace stator::api
