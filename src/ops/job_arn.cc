#include "ops/job_arn.h"

#include "access/crypto.h"

namespace stator::ops {
namespace {

// Bytes of a token, blanks at the end included: 112 digits.
constexpr size_t kTokenBytes = 56;

}  // namespace

std::optional<JobArn> ParseJobArn(std::string_view arn, std::string_view kind) {
  const ArnPlace place = PlaceOfArn(arn);
  if (place.account.empty()) return std::nullopt;
  std::string_view rest = arn.substr(place.account.data() + place.account.size() + 1 - arn.data());
  constexpr std::string_view kTable = "table/";
  if (!rest.starts_with(kTable)) return std::nullopt;
  rest.remove_prefix(kTable.size());
  const std::string middle = "/" + std::string(kind) + "/";
  const size_t found = rest.find(middle);
  if (found == std::string_view::npos || found == 0) return std::nullopt;
  if (rest.substr(0, found).find('/') != std::string_view::npos) return std::nullopt;
  return JobArn{std::string(place.region), std::string(rest.substr(0, found)),
                std::string(rest.substr(found + middle.size()))};
}

ArnPlace PlaceOfArn(std::string_view arn) {
  std::string_view parts[5];
  for (std::string_view& part : parts) {
    const size_t colon = arn.find(':');
    if (colon == std::string_view::npos) return {};
    part = arn.substr(0, colon);
    arn.remove_prefix(colon + 1);
  }
  if (parts[0] != "arn" || parts[2] != "dynamodb") return {};
  return {parts[3], parts[4]};
}

Error NoObjectStore(const Context& ctx) {
  return ValidationError(std::string(ctx.operation) +
                         " is not supported with --engine=rados by this version of Stator");
}

Status CheckJobAccount(const Context& ctx) {
  if (ctx.account.empty()) return OkStatus();
  return Error(ErrorCode::kAccessDenied,
               std::string(ctx.operation) +
                   " is for the default account in this version of Stator: the object store has no "
                   "accounts.");
}

std::string JobTokenOf(const Environment& env, std::string_view purpose, std::string_view id) {
  std::string text(id);
  text.resize(kTokenBytes - Seal::kBytes, ' ');
  return access::Hex(env.seal.Of(purpose, text) + text);
}

std::optional<std::string> IdInJobToken(const Environment& env, std::string_view purpose,
                                        std::string_view token) {
  std::string bytes;
  if (!access::ParseHex(token, &bytes) || bytes.size() != kTokenBytes) return std::nullopt;
  const std::string text = bytes.substr(Seal::kBytes);
  if (!env.seal.Holds(purpose, text, std::string_view(bytes).substr(0, Seal::kBytes)))
    return std::nullopt;
  return text.substr(0, text.find(' '));
}

Result<std::string> IdBeforePage(const Environment& env, std::string_view purpose,
                                 const std::optional<std::string>& token) {
  if (!token) return std::string();
  std::optional<std::string> id = IdInJobToken(env, purpose, *token);
  if (!id) return ValidationError("Invalid Request: Provided nextToken is invalid: " + *token);
  return *std::move(id);
}

}  // namespace stator::ops
