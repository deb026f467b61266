#include "table/definition_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "table/stream_upkeep.h"
#include "table/test_fault_world.h"

namespace stator::table {
namespace {

using testing::HasSubstr;

TableDescriptor TableOf(const std::string& name, size_t tags) {
  TableDescriptor table;
  table.name = name;
  for (size_t i = 0; i < tags; ++i) table.tags[std::to_string(i)] = std::string(200, 'v');
  return table;
}

class Definitions : public testing::Test {
 protected:
  ~Definitions() override { DefinitionAccount::SetMost(kMostDefinitionBytes); }
};

TEST_F(Definitions, WhatClientsDefineCounts) {
  const TableDescriptor plain = TableOf("tab", 0);
  const auto costs = [&](const TableDescriptor& more) {
    return DefinitionAccount::BytesOf(more) - DefinitionAccount::BytesOf(plain);
  };
  EXPECT_GT(costs(TableOf("tab", 50)), 50 * 300u);
  TableDescriptor indexed = plain;
  indexed.indexes.resize(20);
  EXPECT_GT(costs(indexed), 20 * 8000u);
  TableDescriptor scaled = plain;
  scaled.auto_scaling.read_target.emplace().tags = TableOf("tab", 50).tags;
  EXPECT_GT(costs(scaled), 50 * 300u);
  TableDescriptor changed = plain;
  changed.read_units = 7;
  changed.stream_label = "label";
  EXPECT_EQ(costs(changed), 0u);
  changed.stream_view_type = stream::ViewType::kKeysOnly;
  EXPECT_GT(costs(changed), 1000u);
}

TEST_F(Definitions, AnAccountHasAShareOnceHalfIsHeld) {
  DefinitionAccount::SetMost(1'000'000);
  DefinitionAccount account;
  for (int i = 0; i < 60; ++i) account.Add(TableOf("tab" + std::to_string(i), 0));
  EXPECT_TRUE(account.Check(nullptr, TableOf("mine", 0)).ok()) << "nobody else has tables";
  account.Add(TableOf("123456789012/tab", 0));
  EXPECT_TRUE(account.Check(nullptr, TableOf("123456789012/more", 0)).ok());
  const Status refused = account.Check(nullptr, TableOf("mine", 0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_THAT(refused.error().message(), HasSubstr("those of one account may have 250000 bytes"));
  const TableDescriptor first = TableOf("tab0", 0);
  EXPECT_TRUE(account.Check(&first, first).ok()) << "it does not grow";
}

TEST_F(Definitions, DisabledStreamsCountUntilTheyGo) {
  FaultWorld world;
  ASSERT_TRUE(world.Create("aaa").ok());
  const auto set_stream = [&](bool on) {
    return Await<Result<TablePtr>>([&](auto done) {
      world.store->Alter(
          "aaa",
          [on](TableDescriptor* table) {
            table->stream_view_type.reset();
            if (on) table->stream_view_type = stream::ViewType::kKeysOnly;
            return OkStatus();
          },
          std::move(done));
    });
  };
  constexpr uint64_t kRoom = 40'000;
  DefinitionAccount::SetMost(DefinitionAccount::BytesOf(Describe("aaa")) + kRoom);
  uint64_t toggled = 0;
  Result<TablePtr> enabled = set_stream(true);
  for (; enabled.ok() && toggled < 1000; ++toggled) {
    ASSERT_TRUE(set_stream(false).ok()) << "to disable is always allowed";
    enabled = set_stream(true);
  }
  ASSERT_FALSE(enabled.ok());
  EXPECT_EQ(enabled.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_THAT(enabled.error().message(), HasSubstr("bytes describe disabled streams"));
  EXPECT_GT(toggled, kRoom / 4000);
  EXPECT_LT(toggled, kRoom / 1000);
  EXPECT_EQ(world.store->ListStreams().size(), toggled);
  EXPECT_FALSE(world.Create("bbb").ok());

  // They count where the store is opened again, too.
  const std::unique_ptr<Store> again =
      Store::Open(*world.engine, world.clock, world.workers).value();
  EXPECT_FALSE(Await<Result<TablePtr>>([&](auto done) {
                 again->Create(Describe("bbb"), std::move(done));
               }).ok());

  ASSERT_TRUE(RemoveDisabledStreams(*world.store).ok());
  EXPECT_TRUE(set_stream(true).ok());
}

TEST_F(Definitions, DisabledStreamsOfOneAccountLeaveTheSharesOfOthers) {
  DefinitionAccount::SetMost(100'000);
  DisabledStreams streams;
  streams.bytes = 70'000;
  streams.of_accounts["123456789012"] = 70'000;
  DefinitionAccount account;
  account.Add(streams);
  EXPECT_TRUE(account.Check(nullptr, TableOf("123456789012/tab", 0)).ok()) << "it is alone";
  account.Add(TableOf("first", 0));
  EXPECT_TRUE(account.Check(nullptr, TableOf("mine", 0)).ok());
  const Status refused = account.Check(nullptr, TableOf("123456789012/tab", 0));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("; 70000 bytes describe disabled streams"));
}

TEST_F(Definitions, NoMoreIsDefinedThanThereIsRoomFor) {
  FaultWorld world;
  DefinitionAccount::SetMost(3 * DefinitionAccount::BytesOf(Describe("aaa")) + 5000);
  for (const char* name : {"aaa", "bbb", "ccc"}) ASSERT_TRUE(world.Create(name).ok()) << name;
  const auto alter = [&](size_t tags) {
    return Await<Result<TablePtr>>([&](auto done) {
      world.store->Alter(
          "aaa",
          [tags](TableDescriptor* table) {
            table->tags = TableOf("", tags).tags;
            return OkStatus();
          },
          std::move(done));
    });
  };
  const Result<TablePtr> refused = world.Create("ddd");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_THAT(refused.error().message(), HasSubstr("Subscriber limit exceeded: The definitions"));
  EXPECT_EQ(world.store->Find("ddd"), nullptr);
  EXPECT_FALSE(world.Create("ddd").ok());
  EXPECT_TRUE(alter(5).ok());
  EXPECT_EQ(alter(50).error().code(), ErrorCode::kLimitExceeded);
  EXPECT_TRUE(alter(0).ok());

  // Counted anew where the store is opened, and what is there stays when the bound is lower.
  DefinitionAccount::SetMost(1);
  const std::unique_ptr<Store> again =
      Store::Open(*world.engine, world.clock, world.workers).value();
  EXPECT_EQ(again->List().size(), 3u);
  DefinitionAccount::SetMost(3 * DefinitionAccount::BytesOf(Describe("aaa")) + 5000);
  const auto create = [&] {
    return Await<Result<TablePtr>>(
        [&](auto done) { again->Create(Describe("eee"), std::move(done)); });
  };
  EXPECT_FALSE(create().ok());
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                again->Drop(
                    "ccc", [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
              }).ok());
  EXPECT_TRUE(create().ok());
}

}  // namespace
}  // namespace stator::table
