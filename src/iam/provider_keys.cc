#include "iam/provider_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/json.h"
#include "base/log.h"
#include "base/web_origin.h"

namespace stator::iam {
namespace {

constexpr size_t kMaxUrl = 255;
constexpr size_t kMaxDocumentUrl = 2048;
constexpr access::JsonLimits kDiscoveryJson{8, 4'000};

bool IsLocal(const egress::Url& url) {
  const std::string authority = url.authority();
  const auto parsed = ParseAuthority(authority);
  return parsed && IsLoopback(*parsed);
}

class WebDocuments final : public DocumentSource {
 public:
  Result<std::string> Get(const egress::Url& url, int64_t most_micros) override {
    std::shared_ptr<const egress::TlsTrust> trust;
    if (url.tls) {
      ASSIGN_OR_RETURN(trust, Trust());
    }
    const egress::Limits limits{std::min(kConnectMicros, most_micros), most_micros, kHeaderBytes,
                                access::WebKeys::kMaxDocumentBytes};
    egress::Client client(url, limits, std::move(trust), clock_);
    {
      const MutexLock lock(mutex_);
      if (cancelled_) return Error(ErrorCode::kUnavailable, "the server stops");
      clients_.insert(&client);
    }
    Result<egress::Reply> reply =
        client.Call("GET", url.target, {{"Accept", "application/json"}}, "");
    {
      const MutexLock lock(mutex_);
      clients_.erase(&client);
    }
    if (!reply.ok()) return std::move(reply).error();
    if (reply->status != 200) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("{}{} answered {}", url.origin(), url.target, reply->status));
    }
    return std::move(reply->body);
  }

  void Cancel() override {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    for (egress::Client* const client : clients_) client->Cancel();
  }

 private:
  static constexpr int64_t kConnectMicros = 3'000'000;
  static constexpr size_t kHeaderBytes = 16 << 10;
  static constexpr int64_t kTrustMicros = 10'000'000;

  // Authorities come and go while a server runs, so they are read again and again; they take a
  // megabyte, so the fetches of one time share them.
  Result<std::shared_ptr<const egress::TlsTrust>> Trust() {
    const MutexLock lock(trust_mutex_);
    const int64_t now = clock_.TicksMicros();
    std::shared_ptr<const egress::TlsTrust> trust = trust_.lock();
    if (trust == nullptr || now - trust_read_ > kTrustMicros) {
      ASSIGN_OR_RETURN(trust, egress::TlsTrust::Load(""));
      trust_ = trust;
      trust_read_ = now;
    }
    return trust;
  }

  SystemClock clock_;  // the machine's: a manual one would stop the deadlines
  Mutex trust_mutex_;
  std::weak_ptr<const egress::TlsTrust> trust_ GUARDED_BY(trust_mutex_);
  int64_t trust_read_ GUARDED_BY(trust_mutex_) = 0;
  Mutex mutex_;
  std::set<egress::Client*> clients_ GUARDED_BY(mutex_);
  bool cancelled_ GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<DocumentSource> MakeWebDocuments() { return std::make_unique<WebDocuments>(); }

Status CheckProviderUrl(std::string_view url) {
  if (url.size() > kMaxUrl) return ValidationError("The URL is longer than 255 characters.");
  ASSIGN_OR_RETURN(const egress::Url parsed, egress::ParseUrl(url));
  if (!parsed.tls && !IsLocal(parsed))
    return ValidationError("The URL must begin with https://; http:// is for loopback only.");
  if (url.find('?') != std::string_view::npos)
    return ValidationError("The URL must not have a query.");
  return OkStatus();
}

Result<std::shared_ptr<const access::WebKeys>> ProviderKeys::Read(const std::string& issuer) {
  TRY(CheckProviderUrl(issuer));
  const int64_t end = clock_.TicksMicros() + kFetchMicros;
  std::string base = issuer;
  while (base.ends_with('/')) base.pop_back();
  ASSIGN_OR_RETURN(const egress::Url url,
                   egress::ParseUrl(base + "/.well-known/openid-configuration"));
  ASSIGN_OR_RETURN(const std::string text, documents_->Get(url, kFetchMicros));
  ASSIGN_OR_RETURN(const access::JsonValue document, access::ReadJson(text, kDiscoveryJson));
  const access::JsonValue* named = document.Find("issuer");
  if (named == nullptr || !named->is_string() || named->text != issuer)
    return ValidationError("the configuration of the provider is that of another issuer");
  const access::JsonValue* place = document.Find("jwks_uri");
  if (place == nullptr || !place->is_string() || place->text.size() > kMaxDocumentUrl)
    return ValidationError("the configuration of the provider has no jwks_uri");
  ASSIGN_OR_RETURN(const egress::Url keys, egress::ParseUrl(place->text));
  // A remote provider must not make this server call services on its own machine (SSRF). So a local
  // jwks_uri is accepted only from a local provider, and any other one must be https.
  if (IsLocal(keys) ? !IsLocal(url) : !keys.tls)
    return ValidationError("the jwks_uri of the provider is not https, or on loopback");
  const int64_t left = end - clock_.TicksMicros();
  if (left <= 0) return Error(ErrorCode::kUnavailable, "the provider takes longer than 5 s");
  ASSIGN_OR_RETURN(const std::string set, documents_->Get(keys, left));
  return access::WebKeys::Parse(set);
}

bool ProviderKeys::IsUsable(const Provider& provider) const {
  return provider.keys != nullptr && clock_.TicksMicros() - provider.fetched_ticks < kUsableMicros;
}

bool ProviderKeys::NeedsFetch(const std::string& issuer, access::TokenAlgorithm algorithm,
                              std::string_view key_id) const {
  const MutexLock lock(mutex_);
  const auto found = providers_.find(issuer);
  if (found == providers_.end()) return true;
  const Provider& provider = found->second;
  const int64_t now = clock_.TicksMicros();
  const bool usable = IsUsable(provider);
  if (usable && provider.keys->Has(algorithm, key_id) &&
      (provider.fetching || now - provider.fetched_ticks < kFreshMicros))
    return false;
  if (provider.fetching || !provider.asked) return true;
  return now - provider.asked_ticks >= (usable ? kPauseMicros : kRetryMicros);
}

Result<std::shared_ptr<const access::WebKeys>> ProviderKeys::Find(const std::string& issuer) const {
  const MutexLock lock(mutex_);
  const auto found = providers_.find(issuer);
  if (found != providers_.end() && IsUsable(found->second)) return found->second.keys;
  return Error(ErrorCode::kUnavailable, "The keys of the identity provider could not be fetched.");
}

void ProviderKeys::MakeRoom() {
  while (providers_.size() >= kMaxProviders) {
    auto oldest = providers_.end();
    for (auto it = providers_.begin(); it != providers_.end(); ++it) {
      if (it->second.fetching) continue;
      if (oldest == providers_.end() || it->second.asked_ticks < oldest->second.asked_ticks)
        oldest = it;
    }
    if (oldest == providers_.end()) return;
    providers_.erase(oldest);
  }
}

void ProviderKeys::Fetch(const std::string& issuer, UniqueFunction<void()> then) {
  bool refused = true;
  {
    const MutexLock lock(mutex_);
    if (!providers_.contains(issuer)) MakeRoom();
    if (!stopped_ && (providers_.contains(issuer) || providers_.size() < kMaxProviders)) {
      Provider& provider = providers_[issuer];
      if (!provider.fetching) provider.fetching = threads_.Run([this, issuer] { Ask(issuer); });
      refused = !provider.fetching || provider.waiting.size() >= kMaxWaiting;
      if (!refused) provider.waiting.push_back(std::move(then));
    }
  }
  if (refused) then();
}

void ProviderKeys::Ask(const std::string& issuer) {
  Result<std::shared_ptr<const access::WebKeys>> read = Read(issuer);
  if (!read.ok()) {
    LogWarn("identity_provider_not_read",
            {{"provider", issuer}, {"error", read.error().message()}});
  }
  std::vector<UniqueFunction<void()>> waiting;
  {
    const MutexLock lock(mutex_);
    Provider& provider = providers_[issuer];
    provider.asked = true;
    provider.fetching = false;
    provider.asked_ticks = clock_.TicksMicros();
    if (read.ok()) {
      provider.keys = *std::move(read);
      provider.fetched_ticks = provider.asked_ticks;
    }
    waiting.swap(provider.waiting);
  }
  for (UniqueFunction<void()>& then : waiting) then();
}

void ProviderKeys::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  documents_->Cancel();
  threads_.Stop();
}

}  // namespace stator::iam
