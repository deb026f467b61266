// The keys of OpenID Connect providers: fetched when a token needs them, and kept for a while.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "access/web_token.h"
#include "base/clock.h"
#include "base/crew.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "egress/client.h"
#include "egress/url.h"

namespace stator::iam {

// Thread-safe.
class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  // Returns the body of a document that is answered with 200. Blocks, for about `most_micros`.
  virtual Result<std::string> Get(const egress::Url& url, int64_t most_micros) = 0;
  // Ends calls under way, and fails later ones.
  virtual void Cancel() = 0;
};
// Over HTTP, with the authorities of the system for TLS: 256 KB for a document, no redirects.
std::unique_ptr<DocumentSource> MakeWebDocuments();

// OK for the URL of a provider: https, or http on loopback; no query; at most 255 characters.
// kValidation with a sentence for people.
Status CheckProviderUrl(std::string_view url);

// Each provider that is asked has a thread of its own, so one that hangs holds up its own tokens
// only. Thread-safe.
class ProviderKeys {
 public:
  static constexpr int64_t kFreshMicros = 600'000'000;
  // Keys that could not be fetched anew serve until they are so old.
  static constexpr int64_t kUsableMicros = 3'600'000'000;
  // The pause before a provider is asked again, about a key that it did not have or after a failure
  // ...
  static constexpr int64_t kPauseMicros = 60'000'000;
  // ... and after a failure while this server has no keys of the provider.
  static constexpr int64_t kRetryMicros = 10'000'000;
  static constexpr int64_t kFetchMicros = 5'000'000;  // both documents of a provider
  static constexpr size_t kMaxProviders = 128;
  static constexpr size_t kMaxWaiting = 256;  // for one provider

  // `clock` must outlive it.
  ProviderKeys(const Clock& clock, std::unique_ptr<DocumentSource> documents)
      : clock_(clock), documents_(std::move(documents)) {}
  ~ProviderKeys() { Stop(); }

  // True if a token with this key needs what only the provider knows. Never blocks.
  bool NeedsFetch(const std::string& issuer, access::TokenAlgorithm algorithm,
                  std::string_view key_id) const;
  // Asks a stored provider for its keys, or waits for the answer to an earlier caller. Calls `then`
  // once: from another thread, or at once if too many callers wait.
  void Fetch(const std::string& issuer, UniqueFunction<void()> then);
  // Returns the keys that are known. kUnavailable if there are none.
  Result<std::shared_ptr<const access::WebKeys>> Find(const std::string& issuer) const;
  // Ends what is under way; `then`s are called. Idempotent.
  void Stop();

 private:
  struct Provider {
    std::shared_ptr<const access::WebKeys> keys;
    int64_t fetched_ticks = 0;
    int64_t asked_ticks = 0;
    bool asked = false;
    bool fetching = false;
    std::vector<UniqueFunction<void()>> waiting;
  };
  bool IsUsable(const Provider& provider) const;
  Result<std::shared_ptr<const access::WebKeys>> Read(const std::string& issuer);
  void Ask(const std::string& issuer);
  void MakeRoom() REQUIRES(mutex_);

  const Clock& clock_;
  const std::unique_ptr<DocumentSource> documents_;
  mutable Mutex mutex_;
  std::map<std::string, Provider, std::less<>> providers_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  Crew threads_;  // one for each fetch under way
};

}  // namespace stator::iam
