// JSON replies and query parameters of management calls.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "base/percent_code.h"
#include "base/result.h"
#include "http/server.h"

namespace stator::management {

inline http::Reply Json(int status, std::string body) {
  http::Reply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body = std::move(body);
  return reply;
}

// {"message":"..."}
inline http::Reply Message(int status, std::string_view message) {
  JsonWriter json;
  json.Open('{').Field("message", message).Close('}');
  std::string body = json.Take();
  body.pop_back();  // the line feed
  return Json(status, std::move(body));
}

inline http::Reply Failure(const Error& error) {
  const int status = error.code() == ErrorCode::kResourceNotFound ? 404
                     : error.code() == ErrorCode::kValidation     ? 400
                                                                  : 500;
  return Message(status, error.message());
}

// 200 with the text, or Failure.
inline http::Reply Answer(Result<std::string> answer) {
  return answer.ok() ? Json(200, *std::move(answer)) : Failure(answer.error());
}

// Answers 503 for kUnavailable, 409 where something stands in the way, and like Answer otherwise.
inline http::Reply OrOverloaded(Result<std::string> answer) {
  if (!answer.ok() && (answer.error().code() == ErrorCode::kResourceInUse ||
                       answer.error().code() == ErrorCode::kLimitExceeded))
    return Message(409, answer.error().message());
  if (!answer.ok() && answer.error().code() == ErrorCode::kUnavailable)
    return Message(503, answer.error().message());
  return Answer(std::move(answer));
}

// Returns the decoded value of a parameter of a query such as "since=3&table=music"; nullopt if
// there is none.
inline std::optional<std::string> Parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const size_t cut = std::min(part.find('='), part.size());
    if (part.substr(0, cut) != name) continue;
    const std::string_view value = part.substr(std::min(cut + 1, part.size()));
    return PercentDecode(value, PlusSign::kPlus);
  }
  return std::nullopt;
}

// Returns a query parameter that must be a whole number of at least 0, or `absent` if there is
// none. kValidation for another text.
inline Result<int64_t> WholeParameter(std::string_view query, std::string_view name,
                                      int64_t absent) {
  const std::optional<std::string> text = Parameter(query, name);
  if (!text) return absent;
  int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < 0)
    return ValidationError(fmt::format("{} must be a whole number: {}", name, *text));
  return number;
}

}  // namespace stator::management
