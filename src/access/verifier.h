// Verifies SigV4 signatures, in the header and in the query string, in the service's order of
// checks and with its texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "access/derived_keys.h"
#include "access/sigv4.h"
#include "base/clock.h"
#include "base/result.h"

namespace stator::access {

struct Caller;  // access/caller.h: the principal behind a key, and its compiled policies

// An access key as the verifier needs it. Immutable; shared by all requests of the key.
struct AccessCredential {
  std::string secret;
  // A number that changes when the key id gets another secret.
  uint64_t generation = 0;
  std::shared_ptr<const Caller> caller;
};

enum class KeyState { kUnknown, kInactive, kActive };
enum class TokenState {
  kFits,     // a valid token of this key, or none with a long-term key
  kInvalid,  // missing, damaged, of another key, or given with a long-term key
  kExpired,
};

// The result of a lookup. `credential` is set if the secret of the key is known, which is always so
// if `key` is kActive; otherwise null.
struct KeyLookup {
  KeyState key = KeyState::kUnknown;
  TokenState token = TokenState::kFits;
  std::shared_ptr<const AccessCredential> credential;
};

// Resolves key ids. Thread-safe; must not block.
class KeySource {
 public:
  virtual ~KeySource() = default;
  // `token` is the session token of the request; empty if it has none. If `key_id` is a temporary
  // key, and the token is missing, cannot be opened or is of another key, returns KeyLookup with
  // key kUnknown and token kInvalid.
  virtual KeyLookup Find(std::string_view key_id, std::string_view token) const = 0;
};

// The service and Region that a request must be signed for. Callers derive them from the operation
// that they dispatch, never from the credential.
struct ExpectedScope {
  std::string_view service;
  // Accepted regions; empty: any name of letters, digits and '-'.
  std::span<const std::string_view> regions;
};

enum class SignatureForm { kNone, kHeader, kQuery };

struct VerifiedRequest {
  std::shared_ptr<const AccessCredential> credential;
  std::string key_id;
  SignatureForm form = SignatureForm::kNone;
};

// Says where a request carries a signature, without judging it: kHeader if there is an
// Authorization header, kQuery if the query has X-Amz-Algorithm.
SignatureForm FindSignature(const HttpRequestView& request);

// Thread-safe. `clock` and `keys` must outlive it.
class Verifier {
 public:
  static constexpr int64_t kWindowMicros = 15 * 60 * 1'000'000LL;

  // `dummy_secret` stands in for unknown keys; any random text.
  Verifier(const Clock& clock, const KeySource& keys, std::string dummy_secret,
           size_t cached_keys = 16384)
      : clock_(clock), keys_(keys), dummy_secret_(std::move(dummy_secret)), derived_(cached_keys) {}

  // Returns the key that signed the request. Errors, each with the service's text:
  //   kMissingAuthenticationToken  no signature
  //   kIncompleteSignature         a part is missing or malformed
  //   kInvalidSignature            two forms, date outside the window, scope, Host not signed, body
  //                                hash, signature
  //   kUnrecognizedClient          unknown or inactive key; token that is not the key's
  //   kExpiredToken                token of the past
  // The time that it takes does not tell whether a key exists, for keys in use: unknown and
  // inactive keys go through the whole computation with a dummy secret.
  Result<VerifiedRequest> Verify(const HttpRequestView& request, const ExpectedScope& expected);

  const DerivedKeys& derived_keys() const { return derived_; }
  const DerivedKeys& dummy_keys() const { return dummies_; }

 private:
  struct Parts;

  Status ReadHeaderForm(const HttpRequestView& request, std::string_view authorization,
                        Parts* parts) const;
  Status ReadQueryForm(const HttpRequestView& request, Parts* parts) const;
  Status CheckParts(const ExpectedScope& expected, Parts* parts) const;
  Status CheckWindow(const Parts& parts) const;
  bool FitsWithLowerHost(const HttpRequestView& request, const Parts& parts,
                         const Digest& key) const;
  bool SignatureFits(const HttpRequestView& request, const Parts& parts, const Digest& key) const;

  const Clock& clock_;
  const KeySource& keys_;
  const std::string dummy_secret_;
  DerivedKeys derived_;
  // A cache of the same kind for the dummy's keys: requests without a valid key cannot push the
  // keys in use out of theirs.
  DerivedKeys dummies_{1024};
};

}  // namespace stator::access
