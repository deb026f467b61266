#include "iam/provider_keys.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>

#include "access/test_provider.h"
#include "base/log.h"

namespace stator::iam {
namespace {

constexpr char kIssuer[] = "https://idp.example/a";
constexpr auto kRsa = access::TokenAlgorithm::kRs256;

// Documents by their URLs; a gate that is closed holds the callers, but for those of `good`.
class Documents final : public DocumentSource {
 public:
  Result<std::string> Get(const egress::Url& url, int64_t most_micros) override {
    std::unique_lock lock(mutex_);
    ++asked;
    last_most_micros = most_micros;
    if (clock != nullptr) clock->AdvanceMicros(takes_micros);
    changed_.notify_all();
    const bool passes = !good.empty() && url.host == good;
    changed_.wait(lock, [&] { return open_ || cancelled_ || passes; });
    const auto found = texts.find(url.origin() + url.target);
    if (cancelled_ || found == texts.end()) return Error(ErrorCode::kUnavailable, "none");
    return found->second;
  }
  void Cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  void SetOpen(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void WaitForAsked(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked >= count; });
  }
  std::map<std::string, std::string> texts;
  std::string good;  // a host
  int asked = 0;
  ManualClock* clock = nullptr;  // is advanced by takes_micros for each document
  int64_t takes_micros = 0;
  int64_t last_most_micros = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  bool cancelled_ = false;
};

class ProviderKeysTest : public testing::Test {
 protected:
  ProviderKeysTest() {
    SetLogLevel(LogLevel::kOff);
    auto documents = std::make_unique<Documents>();
    documents_ = documents.get();
    keys_ = std::make_unique<ProviderKeys>(clock_, std::move(documents));
    SetKeys(key_.Jwk("1"));
  }
  ~ProviderKeysTest() override { SetLogLevel(LogLevel::kInfo); }

  void SetKeys(const std::string& jwks, const std::string& place = "https://keys.example/k?v=1",
               const std::string& issuer = kIssuer) {
    std::string base = issuer;
    while (base.ends_with('/')) base.pop_back();
    documents_->texts[base + "/.well-known/openid-configuration"] =
        R"({"issuer":")" + issuer + R"(","jwks_uri":")" + place + "\"}";
    documents_->texts[place] = R"({"keys":[)" + jwks + "]}";
  }
  void Fetch(const std::string& issuer = kIssuer) {
    std::promise<void> done;
    keys_->Fetch(issuer, [&done] { done.set_value(); });
    done.get_future().wait();
  }

  const access::TestKey key_ = access::TestKey::Ec();
  static constexpr auto kEc = access::TokenAlgorithm::kEs256;
  ManualClock clock_;
  Documents* documents_ = nullptr;
  std::unique_ptr<ProviderKeys> keys_;
};

TEST_F(ProviderKeysTest, AreFetchedOnceAndKept) {
  EXPECT_TRUE(keys_->NeedsFetch(kIssuer, kEc, "1"));
  EXPECT_FALSE(keys_->Find(kIssuer).ok());
  Fetch();
  EXPECT_FALSE(keys_->NeedsFetch(kIssuer, kEc, "1"));
  ASSERT_TRUE(keys_->Find(kIssuer).ok());
  EXPECT_TRUE((*keys_->Find(kIssuer))->Has(kEc, "1"));
  EXPECT_EQ(documents_->asked, 2);
  clock_.AdvanceMicros(ProviderKeys::kFreshMicros);
  EXPECT_TRUE(keys_->NeedsFetch(kIssuer, kEc, "1"));
}

TEST_F(ProviderKeysTest, AnUnknownKeyAsksOnceAMinute) {
  Fetch();
  for (int i = 0; i < 59; ++i) {
    EXPECT_FALSE(keys_->NeedsFetch(kIssuer, kEc, "2")) << i;
    EXPECT_FALSE(keys_->NeedsFetch(kIssuer, kRsa, "1")) << i;
    clock_.AdvanceMicros(1'000'000);
  }
  clock_.AdvanceMicros(1'000'000);
  EXPECT_TRUE(keys_->NeedsFetch(kIssuer, kEc, "2"));
  SetKeys(key_.Jwk("2"));
  Fetch();
  EXPECT_TRUE((*keys_->Find(kIssuer))->Has(kEc, "2"));
  EXPECT_FALSE((*keys_->Find(kIssuer))->Has(kEc, "1")) << "a key that was withdrawn";
}

TEST_F(ProviderKeysTest, KeysOutliveAnOutageForAnHour) {
  Fetch();
  documents_->texts.clear();
  clock_.AdvanceMicros(ProviderKeys::kFreshMicros);
  EXPECT_TRUE(keys_->NeedsFetch(kIssuer, kEc, "1"));
  Fetch();
  EXPECT_FALSE(keys_->NeedsFetch(kIssuer, kEc, "1")) << "asked just now";
  EXPECT_TRUE(keys_->Find(kIssuer).ok());
  clock_.AdvanceMicros(ProviderKeys::kUsableMicros - ProviderKeys::kFreshMicros);
  EXPECT_FALSE(keys_->Find(kIssuer).ok());
  Fetch();
  EXPECT_FALSE(keys_->NeedsFetch(kIssuer, kEc, "1"));
  clock_.AdvanceMicros(ProviderKeys::kRetryMicros);
  EXPECT_TRUE(keys_->NeedsFetch(kIssuer, kEc, "1"));
}

TEST_F(ProviderKeysTest, ConfigurationsMustFit) {
  const auto refused = [this](const std::string& issuer) {
    Fetch(issuer);
    return !keys_->Find(issuer).ok();
  };
  SetKeys(key_.Jwk("1"), "https://k.example/", "https://good.example/");
  EXPECT_FALSE(refused("https://good.example/"));
  documents_->texts["https://other.example/.well-known/openid-configuration"] =
      R"({"issuer":"https://good.example/","jwks_uri":"https://k.example/"})";
  EXPECT_TRUE(refused("https://other.example"));
  // A provider elsewhere leads the server neither to its own loopback nor away from TLS.
  int number = 0;
  for (const std::string_view place :
       {"http://k.example/", "http://127.0.0.1:1/", "https://localhost/", "https://[::1]/",
        "file:///etc/passwd", "ftp://k.example/", "https://u:p@k.example/", ""}) {
    const std::string issuer = "https://bad" + std::to_string(number++) + ".example";
    SetKeys(key_.Jwk("1"), std::string(place), issuer);
    EXPECT_TRUE(refused(issuer)) << place;
  }
  SetKeys(key_.Jwk("1"), "http://127.0.0.1:2/k", "http://localhost:1/x");
  EXPECT_FALSE(refused("http://localhost:1/x"));
  EXPECT_TRUE(refused("http://not-loopback.example"));
  for (const std::string_view text : {"", "[]", "{}", "no JSON"}) {
    const std::string issuer = "https://bad" + std::to_string(number++) + ".example";
    documents_->texts[issuer + "/.well-known/openid-configuration"] = text;
    EXPECT_TRUE(refused(issuer)) << text;
  }
}

TEST_F(ProviderKeysTest, OneAsksForAllAndWaitingIsBounded) {
  documents_->SetOpen(false);
  std::atomic<int> called{0};
  for (size_t i = 0; i < ProviderKeys::kMaxWaiting; ++i)
    keys_->Fetch(kIssuer, [&called] { ++called; });
  documents_->WaitForAsked(1);
  EXPECT_EQ(called, 0);
  bool at_once = false;
  keys_->Fetch(kIssuer, [&at_once] { at_once = true; });
  EXPECT_TRUE(at_once) << "too many wait";
  documents_->SetOpen(true);
  keys_->Stop();
  EXPECT_EQ(called, static_cast<int>(ProviderKeys::kMaxWaiting));
  EXPECT_LE(documents_->asked, 2);
}

TEST_F(ProviderKeysTest, ProvidersThatHangHoldUpNoOther) {
  constexpr char kGood[] = "https://good.example";
  SetKeys(key_.Jwk("1"), "https://good.example/k", kGood);
  documents_->good = "good.example";
  documents_->SetOpen(false);
  constexpr int kHanging = static_cast<int>(ProviderKeys::kMaxProviders) - 1;
  std::atomic<int> called{0};
  for (int i = 0; i < kHanging; ++i) {
    const std::string issuer = "https://hangs" + std::to_string(i) + ".example";
    for (int k = 0; k < 3; ++k) keys_->Fetch(issuer, [&called] { ++called; });
  }
  Fetch(kGood);
  EXPECT_TRUE(keys_->Find(kGood).ok());
  EXPECT_EQ(called, 0);
  documents_->WaitForAsked(kHanging + 2);
  EXPECT_EQ(documents_->asked, kHanging + 2) << "each provider is asked once at a time";
  keys_->Stop();
  EXPECT_EQ(called, 3 * kHanging);
}

TEST_F(ProviderKeysTest, BothDocumentsShareTheTimeOfAFetch) {
  documents_->clock = &clock_;
  documents_->takes_micros = ProviderKeys::kFetchMicros - 1;
  Fetch();
  EXPECT_EQ(documents_->asked, 2);
  EXPECT_EQ(documents_->last_most_micros, 1);
  EXPECT_TRUE(keys_->Find(kIssuer).ok());
  documents_->takes_micros = ProviderKeys::kFetchMicros;
  SetKeys(key_.Jwk("1"), "https://keys.example/k", "https://slow.example");
  Fetch("https://slow.example");
  EXPECT_EQ(documents_->asked, 3);
  EXPECT_FALSE(keys_->Find("https://slow.example").ok());
}

TEST_F(ProviderKeysTest, StopEndsWhatHangs) {
  documents_->SetOpen(false);
  std::atomic<int> called{0};
  for (const char* issuer : {"https://a.example", "https://b.example", "https://c.example"})
    keys_->Fetch(issuer, [&called] { ++called; });
  documents_->WaitForAsked(2);
  keys_->Stop();
  EXPECT_EQ(called, 3);
  keys_->Fetch(kIssuer, [&called] { ++called; });
  EXPECT_EQ(called, 4);
  EXPECT_FALSE(keys_->Find(kIssuer).ok());
}

TEST_F(ProviderKeysTest, ThePlacesAreBounded) {
  for (size_t i = 0; i < ProviderKeys::kMaxProviders + 10; ++i)
    Fetch("https://p" + std::to_string(i) + ".example");
  EXPECT_TRUE(keys_->NeedsFetch("https://p0.example", kEc, "1")) << "the oldest made room";
  EXPECT_FALSE(keys_->NeedsFetch(
      "https://p" + std::to_string(ProviderKeys::kMaxProviders) + ".example", kEc, "1"));
}

TEST(ProviderUrl, IsHttpsOrLoopback) {
  for (const std::string_view good :
       {"https://idp.example", "https://idp.example:8443/a/b", "https://idp.example/",
        "http://localhost:8080/x", "http://127.0.0.1:1", "http://[::1]:1/"})
    EXPECT_TRUE(CheckProviderUrl(good).ok()) << good;
  for (const std::string_view bad :
       {"", "idp.example", "http://idp.example", "http://localhost.evil.example",
        "http://127.evil.example", "https://idp.example/?a=b", "https://idp.example/#x",
        "https://u:p@idp.example", "https://idp example", "HTTPS//x"})
    EXPECT_FALSE(CheckProviderUrl(bad).ok()) << bad;
  EXPECT_FALSE(CheckProviderUrl("https://idp.example/" + std::string(255, 'a')).ok());
}

}  // namespace
}  // namespace stator::iam
