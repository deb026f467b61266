// Temporary credentials. A token holds everything about its session, sealed under the master key:
// servers keep no sessions, and all servers with the key accept them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/identity.h"
#include "access/seal.h"
#include "base/result.h"

namespace stator::access {

struct Session {
  enum class Kind { kRole = 1, kFederatedUser = 2, kUser = 3 };

  Kind kind = Kind::kRole;
  std::string key_id;  // "ASIA..."
  std::string secret;
  std::string account;
  // The role's name; of kFederatedUser and kUser the name of the user that asked, empty for root.
  std::string issuer;
  std::string issuer_id;  // "AROA..." or "AIDA...": a new role of the same name is not the issuer
  std::string name;       // of the session or of the federated user; empty for kUser
  int64_t issued_micros = 0;
  int64_t expires_micros = 0;
  bool has_policies = false;          // session policies were given
  std::vector<std::string> policies;  // their documents
  std::vector<Tag> tags;
  std::string source_identity;
  // After AssumeRoleWithWebIdentity: the provider's ARN, and what its token said.
  std::string federated_provider;
  std::vector<std::string> web;  // sub, aud, and the values of amr; else empty
  friend bool operator==(const Session&, const Session&) = default;
};

// Limits of STS, in seconds.
inline constexpr int64_t kMinSessionSeconds = 900;
inline constexpr int64_t kMaxSessionSeconds = 43'200;
inline constexpr int64_t kMaxChainedSessionSeconds = 3'600;
inline constexpr int64_t kMaxUserSessionSeconds = 129'600;
// The packed size that STS refuses with PackedPolicyTooLarge.
inline constexpr size_t kMaxTokenBytes = 8'192;

// Returns the token of a session: base64 without padding, URL-safe. kLimitExceeded if it would be
// longer than kMaxTokenBytes.
Result<std::string> SealSession(const Session& session, const Keyring& keyring,
                                SecureRandom* random);
// Decrypts a session token and returns the session, even if it has expired. kValidation or
// kCorruption if no key of the keyring has sealed the token; kUnavailable if a newer version has
// written it.
Result<Session> OpenSession(std::string_view token, const Keyring& keyring);

}  // namespace stator::access
