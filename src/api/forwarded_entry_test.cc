// Writes of a batch on their way to another process and back.
#include "api/forwarded_entry.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "base/pump.h"
#include "expr/test_notation.h"
#include "table/table.h"

namespace stator::api {
namespace {

using expr::notation::Item;

class OneOwner final : public Forwarding {
 public:
  WriteOwner OwnerOf(std::span<const ops::WrittenItem>) override { return {owner, 0}; }
  bool Send(const WriteOwner&, std::span<const ops::WrittenItem> items, std::string_view operation,
            std::string_view text, ForwardedDone& done) override {
    if (!sends) return false;
    sent = std::string(operation) + " " + std::string(items[0].key) + " " + std::string(text);
    answered = std::move(done);
    return true;
  }
  std::string owner = "b", sent;
  bool sends = true;
  ForwardedDone answered;
};

class ForwardedEntryTest : public testing::Test {
 protected:
  bool Forward(bool put, const std::string& item, const std::string& name = "words") {
    table::TableDescriptor descriptor;
    descriptor.name = name;
    const table::Table table(std::move(descriptor), nullptr);
    done_ = [this](std::optional<Status> status) { outcome = std::move(status), ++calls; };
    return ForwardEntry(forwarding, loop, table, "key", put, model::ItemView(item), done_);
  }
  void Answer(ForwardedAnswer answer) {
    ForwardedDone(std::move(forwarding.answered))(std::move(answer));
    loop.RunOne();
    EXPECT_EQ(calls, 1);
  }

  OneOwner forwarding;
  Pump loop;
  std::optional<Status> outcome;
  int calls = 0;

 private:
  ops::WriteForwarder::EntryDone done_;
};

TEST_F(ForwardedEntryTest, IsARequestOfItsOwn) {
  ASSERT_TRUE(Forward(true, Item("{pk: 'a', v: 7}")));
  EXPECT_EQ(forwarding.sent, R"(DynamoDB_20120810.PutItem key {"TableName":"words","Item":)"
                             R"({"pk":{"S":"a"},"v":{"N":"7"}}})");
  Answer({ForwardedAnswer::Kind::kAnswered, 200, "", "{}", 0});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->ok());
}

TEST_F(ForwardedEntryTest, DeleteNamesTheKey) {
  ASSERT_TRUE(Forward(false, Item("{pk: 'a'}")));
  EXPECT_EQ(forwarding.sent,
            R"(DynamoDB_20120810.DeleteItem key {"TableName":"words","Key":{"pk":{"S":"a"}}})");
  Answer({ForwardedAnswer::Kind::kRefused});
  EXPECT_FALSE(outcome) << "to be run here";
}

TEST_F(ForwardedEntryTest, ErrorKeepsItsKindAndText) {
  ASSERT_TRUE(Forward(true, Item("{pk: 'a'}")));
  Answer({ForwardedAnswer::Kind::kAnswered, 400, "ItemCollectionSizeLimitExceededException",
          R"({"__type":"x","message":"too large"})", 0});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error().code(), ErrorCode::kItemCollectionTooLarge);
  EXPECT_EQ(outcome->error().message(), "too large");
}

TEST_F(ForwardedEntryTest, OutcomeMayBeUnknown) {
  ASSERT_TRUE(Forward(true, Item("{pk: 'a'}")));
  Answer({});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->error().code(), ErrorCode::kOutcomeUnknown);
}

TEST_F(ForwardedEntryTest, WhatIsNotSentIsLeftToTheCaller) {
  EXPECT_FALSE(Forward(true, Item("{pk: 'a'}"), "123456789012/words"));
  forwarding.sends = false;
  EXPECT_FALSE(Forward(true, Item("{pk: 'a'}")));
  forwarding.owner = "";
  EXPECT_FALSE(Forward(true, Item("{pk: 'a'}")));
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace stator::api
