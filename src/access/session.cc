#include "access/session.h"

#include <fmt/format.h>

#include "access/record_codec.h"
#include "base/base64.h"

namespace stator::access {
namespace {

constexpr char kVersion = 1;
constexpr std::string_view kPurpose = "session token";

struct VisitTag {
  template <typename Visitor, typename T>
  void operator()(Visitor& v, T& tag) const {
    v.Text(1, tag.key);
    v.Text(2, tag.value);
  }
};

//   session = version [1] { field }     (grammar of fields: identity.h)
template <typename Visitor, typename T, typename Kind>
void Visit(Visitor& v, T& session, Kind& kind) {
  v.Number(1, kind);
  v.Text(2, session.key_id);
  v.Text(3, session.secret);
  v.Text(4, session.account);
  v.Text(5, session.issuer);
  v.Text(6, session.issuer_id);
  v.Text(7, session.name);
  v.Number(8, session.issued_micros);
  v.Number(9, session.expires_micros);
  v.Flag(10, session.has_policies);
  v.Texts(11, session.policies);
  v.Records(12, session.tags, VisitTag());
  v.Text(13, session.source_identity);
  v.Text(14, session.federated_provider);
  // Written only if it is not empty. An older version, which does not know this field, refuses the
  // token: without these claims a Deny might not match.
  v.Texts(15, session.web);
}

std::string ToUrlSafe(std::string_view bytes) {
  std::string text(Base64Length(bytes.size()), '\0');
  EncodeBase64(bytes, text.data());
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

Status FromUrlSafe(std::string_view token, std::string* bytes) {
  std::string text(token);
  for (char& c : text) {
    if (c == '+' || c == '/' || c == '=') return ValidationError("not a session token");
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  text.append((4 - text.size() % 4) % 4, '=');
  if (!DecodeBase64(text, bytes).ok()) return ValidationError("not a session token");
  return OkStatus();
}

}  // namespace

Result<std::string> SealSession(const Session& session, const Keyring& keyring,
                                SecureRandom* random) {
  RecordWriter writer;
  writer.bytes = kVersion;
  const auto kind = static_cast<int64_t>(session.kind);
  Visit(writer, session, kind);
  std::string token = ToUrlSafe(keyring.Seal(writer.bytes, kPurpose, random));
  if (token.size() > kMaxTokenBytes) {
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("The session's policies and tags take {} bytes of {}.", token.size(),
                             kMaxTokenBytes));
  }
  return token;
}

Result<Session> OpenSession(std::string_view token, const Keyring& keyring) {
  if (token.size() > kMaxTokenBytes) return ValidationError("The session token is too long.");
  std::string sealed;
  TRY(FromUrlSafe(token, &sealed));
  ASSIGN_OR_RETURN(const std::string bytes, keyring.Unseal(sealed, kPurpose));
  RecordReader reader;
  if (bytes.empty() || bytes[0] != kVersion) {
    return Error(ErrorCode::kUnavailable, "The session token was made by a newer version.");
  }
  Session session;
  int64_t kind = 0;
  if (!reader.Parse(std::string_view(bytes).substr(1)))
    return CorruptionError("The session token is damaged.");
  Visit(reader, session, kind);
  if (reader.Unknown() != 0 || kind > static_cast<int64_t>(Session::Kind::kUser)) {
    return Error(ErrorCode::kUnavailable, "The session token was made by a newer version.");
  }
  if (reader.broken || kind < 1 || session.web.size() == 1)
    return CorruptionError("The session token is damaged.");
  session.kind = static_cast<Session::Kind>(kind);
  return session;
}

}  // namespace stator::access
