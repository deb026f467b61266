// A gate with one caller and one policy in front of a store in memory, for tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/directory.h"
#include "base/log.h"
#include "base/pump.h"
#include "base/random.h"
#include "expr/test_notation.h"
#include "guard/requests.h"
#include "kv/memory_engine.h"
#include "ops/operations.h"

namespace stator::guard {

namespace notation = expr::notation;
using ops::ReturnValues;
using ops::Select;

inline constexpr std::string_view kAccount = "111122223333";
inline constexpr std::string_view kTable = "arn:aws:dynamodb:us-east-1:111122223333:table/Photos";

class NoKeys final : public access::KeySource {
 public:
  access::KeyLookup Find(std::string_view, std::string_view) const override { return {}; }
};

// The policy of one table.
class OnePolicy final : public ResourcePolicySource {
 public:
  bool any() const override { return !id.empty(); }
  AttachedPolicy FindAttached(std::string_view wanted) const override {
    return wanted == id ? AttachedPolicy{true, policy} : AttachedPolicy{};
  }
  std::string id;
  std::shared_ptr<const access::Policy> policy;
};

class FixedPeer final : public Peer {
 public:
  std::string Address() const override { return "192.0.2.7"; }
  bool IsSecure() const override { return secure; }
  bool secure = false;
};

class GuardTest : public testing::Test {
 protected:
  GuardTest()
      : random_(1),
        workers_(1, 100),
        store_(table::Store::Open(engine_, clock_, workers_).value()),
        env_{*store_, clock_, random_, workers_, Settings()} {
    SetLogLevel(LogLevel::kOff);
    MakeGate(Mode::kEnforce);
    Create("Photos", {});
  }
  ~GuardTest() override {
    workers_.Stop();
    SetLogLevel(LogLevel::kInfo);
  }

  static ops::Settings Settings() {
    ops::Settings settings;
    settings.account = kAccount;
    return settings;
  }

  void MakeGate(Mode mode) {
    gate_ = std::make_unique<Gate>(
        clock_, no_keys_,
        Gate::Options{mode, std::string(kAccount), "us-east-1", "dummy", &attached_});
  }

  // A table with the partition key `pk` and the sort key `sk`, both S, and an index by `owner` and
  // `team`.
  void Create(const std::string& name, std::vector<ops::Tag> tags) {
    ops::CreateTableRequest request;
    request.table_name = name;
    request.billing_mode = ops::BillingMode::kPayPerRequest;
    request.key_schema = {{"pk", ops::KeyType::kHash}, {"sk", ops::KeyType::kRange}};
    request.attribute_definitions = {{"pk", ops::ScalarAttributeType::kS},
                                     {"sk", ops::ScalarAttributeType::kS},
                                     {"owner", ops::ScalarAttributeType::kS},
                                     {"team", ops::ScalarAttributeType::kN}};
    ops::GlobalSecondaryIndex index;
    index.index_name = "byOwner";
    index.key_schema = {{"owner", ops::KeyType::kHash}, {"team", ops::KeyType::kHash}};
    index.projection.projection_type = ops::ProjectionType::kAll;
    request.global_secondary_indexes = {index};
    if (!tags.empty()) request.tags = std::move(tags);
    std::optional<bool> created;
    ops::Context context{env_, loop_};
    ops::CreateTable(context, std::move(request),
                     [&](Result<ops::CreateTableResponse> answer) { created = answer.ok(); });
    while (!created) loop_.RunOne();
    ASSERT_TRUE(*created);
  }

  // The statements of the caller's one policy, without their brackets.
  void SetPolicy(const std::string& statements) {
    auto caller = std::make_shared<access::Caller>();
    caller->kind = access::Principal::Kind::kUser;
    caller->account = kAccount;
    caller->arn = "arn:aws:iam::111122223333:user/alice";
    caller->id = caller->user_id = "AIDAALICE";
    const std::string text = R"({"Version":"2012-10-17","Statement":[)" + statements + "]}";
    auto policy = access::Policy::Parse(text, access::PolicyKind::kIdentity, "p");
    ASSERT_TRUE(policy.ok()) << policy.error().message();
    caller->identity.push_back(*std::move(policy));
    caller->keys = caller->policies(false, nullptr).keys();
    auto credential = std::make_shared<access::AccessCredential>();
    credential->caller = std::move(caller);
    credential_ = std::move(credential);
  }
  // Allows an action on a resource under a condition.
  void Allow(const std::string& action, const std::string& condition = "",
             const std::string& resource = std::string(kTable)) {
    SetPolicy(R"({"Effect":"Allow","Action":")" + action + R"(","Resource":")" + resource + R"(")" +
              (condition.empty() ? "" : R"(,"Condition":)" + condition) + "}");
  }

  template <typename Request>
  Status Ask(const Request& request, std::string_view operation = "GetItem", bool in_loop = false) {
    const std::vector<access::HeaderLine> lines = {{"User-Agent", "tests/1"}};
    const access::HttpRequestView http{"POST", "/", lines, ""};
    access::VerifiedRequest verified;
    verified.credential = credential_;
    verified.key_id = "AKIDALICE";
    Check check(*gate_, std::move(verified), env_, operation, http, &peer_);
    if (in_loop) check.StayInLoop();
    if (asks_past_) check.AskPast();
    return Authorize(check, request);
  }
  template <typename Request>
  void ExpectAllowed(const Request& request, std::string_view operation = "GetItem") {
    const Status status = Ask(request, operation);
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  template <typename Request>
  void ExpectDenied(const Request& request, std::string_view text = "",
                    std::string_view operation = "GetItem") {
    const Status status = Ask(request, operation);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(ErrorCodeName(status.error().code()), ErrorCodeName(ErrorCode::kAccessDenied));
    EXPECT_NE(status.error().message().find(text), std::string::npos) << status.error().message();
  }

  static ops::GetItemRequest Get(std::string_view key) {
    ops::GetItemRequest request;
    request.table_name = "Photos";
    request.key.bytes = notation::Item(key);
    return request;
  }
  static ops::PutItemRequest Put(std::string_view item) {
    ops::PutItemRequest request;
    request.table_name = "Photos";
    request.item.bytes = notation::Item(item);
    return request;
  }
  static ops::QueryRequest QueryOf(const std::string& condition,
                                   std::vector<std::pair<std::string, std::string>> values) {
    ops::QueryRequest request;
    request.table_name = "Photos";
    request.key_condition_expression = condition;
    request.expression_attribute_values.emplace();
    for (auto& [name, value] : values)
      request.expression_attribute_values->emplace_back(name, notation::Value(value));
    return request;
  }
  static ops::ExecuteStatementRequest StatementOf(const std::string& text) {
    ops::ExecuteStatementRequest request;
    request.statement = text;
    return request;
  }

  kv::MemoryEngine engine_;
  ManualClock clock_;
  SeededRandom random_;
  WorkerPool workers_;
  std::unique_ptr<table::Store> store_;
  ops::Environment env_;
  Pump loop_;
  NoKeys no_keys_;
  FixedPeer peer_;
  bool asks_past_ = false;
  OnePolicy attached_;
  std::unique_ptr<Gate> gate_;
  std::shared_ptr<const access::AccessCredential> credential_;
};

inline constexpr char kOwnItems[] =
    R"({"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":["alice"]}})";

}  // namespace stator::guard
