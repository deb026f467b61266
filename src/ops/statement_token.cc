#include "ops/statement_token.h"

#include "base/base64.h"
#include "model/value.h"
#include "table/token_ledger.h"

namespace stator::ops {
namespace {

constexpr char kVersion = 0x02;
constexpr std::string_view kPurpose = "statement";
constexpr size_t kDigestBytes = 16;

}  // namespace

std::string StatementDigest(std::string_view statement,
                            const std::optional<std::vector<std::string>>& parameters) {
  std::string meaning;
  model::AppendVarint(&meaning, statement.size());
  meaning.append(statement);
  if (parameters) {
    for (const std::string& parameter : *parameters)
      meaning.append(parameter);  // encoded values end by themselves
  }
  return table::DigestOf(meaning);
}

std::string MakeNextToken(const Seal& seal, const std::string& digest,
                          const StatementPosition& position) {
  std::string bytes(1, kVersion);
  bytes.append(digest);
  model::AppendVarint(&bytes, position.range);
  bytes.append(position.key);
  bytes.append(seal.Of(kPurpose, bytes));
  std::string token(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, token.data());
  return token;
}

Result<StatementPosition> ReadNextToken(const Seal& seal, const std::string& digest,
                                        std::string_view token) {
  std::string bytes;
  if (!DecodeBase64(token, &bytes).ok() || bytes.size() < kDigestBytes + Seal::kBytes + 2)
    return InvalidNextToken();
  const std::string_view body = std::string_view(bytes).substr(0, bytes.size() - Seal::kBytes);
  if (body[0] != kVersion ||
      !seal.Holds(kPurpose, body, std::string_view(bytes).substr(body.size()))) {
    return InvalidNextToken();
  }
  if (body.substr(1, kDigestBytes) != digest)
    return ValidationError("NextToken does not match request");
  // The key may be of a table that has another schema by now.
  std::string_view rest = body.substr(1 + kDigestBytes);
  StatementPosition position;
  size_t shift = 0;
  for (;; shift += 7) {
    if (rest.empty() || shift > 14) return InvalidNextToken();
    const auto byte = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    position.range |= static_cast<size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (!model::CheckItem(rest).ok()) return InvalidNextToken();
  position.key = rest;
  return position;
}

}  // namespace stator::ops
