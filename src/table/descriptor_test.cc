#include "table/descriptor.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "model/node.h"
#include "table/item_value.h"

namespace stator::table {
namespace {

constexpr uint64_t kSeed = 7;

// Every member differs from its default.
TableDescriptor Full() {
  TableDescriptor d;
  d.name = "Orders.v2-x_y";
  d.tablet_id = 0xfffffffe;
  d.table_id = "0af1c3d2-0000-4000-8000-000000000001";
  d.created_micros = 1'763'000'000'123'456;
  d.changed_micros = 2;
  d.deleting_micros = 3;
  d.attribute_definitions = {{"p:with:colons", model::Type::kB}, {"s", model::Type::kN}};
  d.key_schema = {{"p:with:colons", model::Type::kB}, model::KeyAttribute{"s", model::Type::kN}};
  d.billing_mode = BillingMode::kPayPerRequest;
  d.billing_mode_given = true;
  d.to_pay_per_request_micros = 4;
  d.to_pay_per_request_switches = {1'700'000'000'000'001, 4};
  d.read_units = 5;
  d.write_units = 1'000'000'000'000;
  d.last_increase_micros = 6;
  d.last_decrease_micros = 7;
  d.decreases_today = 8;
  d.decreases_day = 9;
  d.max_read_request_units = 10;
  d.max_write_request_units = 11;
  d.warm_read_units = 12;
  d.auto_scaling.read =
      throughput::AutoScalingSettings{.min_units = 3, .max_units = 33'000, .target = 0.7};
  d.auto_scaling.write = throughput::AutoScalingSettings{.max_units = 7,
                                                         .target = 0.35,
                                                         .lower_margin = 0.1,
                                                         .raise_cooldown_seconds = 0.5,
                                                         .lower_cooldown_seconds = 600,
                                                         .lower_when_idle = true};
  d.warm_write_units = 13;
  d.table_class = TableClass::kStandardInfrequentAccess;
  d.table_class_given = true;
  d.table_class_changed_micros = 14;
  d.deletion_protection = true;
  d.tags = {{"empty", ""}, {"stage", "test \"quoted\""}, {"\xc3\xa9", "\xe6\x97\xa5"}};
  d.partitions = throughput::PartitionMap::Even(5);
  d.insights = {true, ContributorInsights::Mode::kThrottledKeys, 15, 16};
  d.shown = ShownSettings{true, 2, 0};
  d.auto_scaling.write_target =
      ScalableTarget{"0a1b",
                     17,
                     18,
                     19,
                     "arn:aws:iam::000000000000:role/scale",
                     true,
                     true,
                     {{"team", "a b"}},
                     ScalingPolicy{"p", "uuid", 20, 70'500'000, 21, 22, 1}};
  d.auto_scaling.read_target = ScalableTarget{.id = "0a1c", .min_units = 23, .max_units = 24};
  return d;
}

void ExpectSame(const TableDescriptor& a, const TableDescriptor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.tablet_id, b.tablet_id);
  EXPECT_EQ(a.table_id, b.table_id);
  EXPECT_EQ(a.created_micros, b.created_micros);
  EXPECT_TRUE(a.insights == b.insights);
  EXPECT_TRUE(a.shown == b.shown);
  EXPECT_EQ(a.changed_micros, b.changed_micros);
  EXPECT_EQ(a.deleting_micros, b.deleting_micros);
  EXPECT_EQ(a.attribute_definitions, b.attribute_definitions);
  EXPECT_EQ(a.key_schema, b.key_schema);
  EXPECT_EQ(a.billing_mode, b.billing_mode);
  EXPECT_EQ(a.billing_mode_given, b.billing_mode_given);
  EXPECT_EQ(a.to_pay_per_request_micros, b.to_pay_per_request_micros);
  EXPECT_EQ(a.to_pay_per_request_switches, b.to_pay_per_request_switches);
  EXPECT_EQ(a.read_units, b.read_units);
  EXPECT_EQ(a.write_units, b.write_units);
  EXPECT_EQ(a.last_increase_micros, b.last_increase_micros);
  EXPECT_EQ(a.last_decrease_micros, b.last_decrease_micros);
  EXPECT_EQ(a.decreases_today, b.decreases_today);
  EXPECT_EQ(a.decreases_day, b.decreases_day);
  EXPECT_EQ(a.max_read_request_units, b.max_read_request_units);
  EXPECT_EQ(a.max_write_request_units, b.max_write_request_units);
  EXPECT_EQ(a.warm_read_units, b.warm_read_units);
  EXPECT_EQ(a.auto_scaling, b.auto_scaling);
  EXPECT_EQ(a.warm_write_units, b.warm_write_units);
  EXPECT_EQ(a.table_class, b.table_class);
  EXPECT_EQ(a.table_class_given, b.table_class_given);
  EXPECT_EQ(a.table_class_changed_micros, b.table_class_changed_micros);
  EXPECT_EQ(a.deletion_protection, b.deletion_protection);
  EXPECT_EQ(a.tags, b.tags);
  EXPECT_EQ(a.partitions, b.partitions);
}

TEST(Descriptor, RoundTripOfEveryMember) {
  const TableDescriptor full = Full();
  const Result<TableDescriptor> again = TableDescriptor::Decode(full.Encode());
  ASSERT_TRUE(again.ok());
  ExpectSame(full, *again);
  EXPECT_EQ(again->Encode(), full.Encode());
}

TEST(Descriptor, RoundTripOfTheLeast) {
  TableDescriptor least;
  least.name = "abc";
  least.key_schema.partition = {"p", model::Type::kS};
  const Result<TableDescriptor> again = TableDescriptor::Decode(least.Encode());
  ASSERT_TRUE(again.ok());
  ExpectSame(least, *again);
}

TEST(Descriptor, RestoringTableLooksDeletedToAVersionThatKnowsNoRestores) {
  TableDescriptor d = Full();
  d.deleting_micros = 0;
  d.restore = RestoreSource{"01795613126583-0a1b2c3d", "Orders"};
  const std::string encoded = d.Encode();
  const Result<TableDescriptor> again = TableDescriptor::Decode(encoded);
  ASSERT_TRUE(again.ok());
  ExpectSame(d, *again);
  EXPECT_EQ(again->restore, d.restore);
  EXPECT_EQ(again->Encode(), encoded);
  // An older version ignores the member.
  model::Node node = model::Node::FromMap(model::ItemView(encoded).attributes());
  ASSERT_EQ(node.map().erase("Restore"), 1u);
  const Result<TableDescriptor> older = TableDescriptor::Decode(node.EncodeItem());
  ASSERT_TRUE(older.ok());
  EXPECT_EQ(older->deleting_micros, 1);
}

TEST(Descriptor, MembersOfALaterVersionAreIgnored) {
  const std::string encoded = Full().Encode();
  model::Node node = model::Node::FromMap(model::ItemView(encoded).attributes());
  std::string value;
  model::AppendString(&value, "later");
  node.map()["AFutureMember"] = model::Node::FromOwned(value);
  const Result<TableDescriptor> decoded = TableDescriptor::Decode(node.EncodeItem());
  ASSERT_TRUE(decoded.ok());
  ExpectSame(Full(), *decoded);
}

// Whatever is missing or of another type: an error by name of its class, or an optional member that
// is absent.
TEST(Descriptor, AMissingOrMistypedMemberIsNeverReadAsADefault) {
  const std::string encoded = Full().Encode();
  const model::ItemView item(encoded);
  const std::set<std::string> optional = {"MaxReadRequestUnits",
                                          "MaxWriteRequestUnits",
                                          "WarmReadUnits",
                                          "WarmWriteUnits",
                                          "Tags",
                                          "ToPayPerRequestSwitches",
                                          "ContributorInsights",
                                          "AutoScalingRead",
                                          "AutoScalingWrite",
                                          "ScalableTargetRead",
                                          "ScalableTargetWrite",
                                          "ShownSettings"};
  for (const auto& entry : item.attributes()) {
    const std::string name(entry.name);
    model::Node without = model::Node::FromMap(item.attributes());
    without.map().erase(name);
    const Result<TableDescriptor> missing = TableDescriptor::Decode(without.EncodeItem());
    EXPECT_EQ(missing.ok(), optional.contains(name)) << name;
    if (!missing.ok()) {
      EXPECT_EQ(missing.error().code(), ErrorCode::kCorruption) << name;
    }

    model::Node mistyped = model::Node::FromMap(item.attributes());
    std::string null;
    model::AppendNull(&null);
    mistyped.map()[name] = model::Node::FromOwned(null);
    const Result<TableDescriptor> wrong = TableDescriptor::Decode(mistyped.EncodeItem());
    ASSERT_FALSE(wrong.ok()) << name;
    EXPECT_EQ(wrong.error().code(), ErrorCode::kCorruption) << name;
  }
}

// Elements of the right container but the wrong type, and numbers that do not fit, are damage too.
TEST(Descriptor, DamagedElements) {
  const std::string encoded = Full().Encode();
  const auto with = [&](const char* name, const std::string& value) {
    model::Node node = model::Node::FromMap(model::ItemView(encoded).attributes());
    node.map()[name] = model::Node::FromOwned(value);
    return TableDescriptor::Decode(node.EncodeItem());
  };
  const auto list_of = [](const std::string& element) {
    std::string list;
    model::AppendList(&list, 1, element);
    return list;
  };
  std::string flag, text, number, map;
  model::AppendBool(&flag, true);
  model::AppendString(&text, "no colon");
  model::AppendNumber(&number, model::Number::Parse("1.5").value());
  std::string entry;
  model::AppendName(&entry, "tag");
  entry += flag;
  model::AppendMap(&map, 1, entry);
  for (const Result<TableDescriptor>& result :
       {with("KeySchema", list_of(flag)), with("KeySchema", list_of(text)),
        with("AttributeDefinitions", list_of(flag)), with("Partitions", list_of(flag)),
        with("Partitions", list_of(text)), with("Created", number), with("Tags", map)}) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), ErrorCode::kCorruption);
  }
}

TEST(Descriptor, DamagedBytesAreRefusedOrAValidDescriptor) {
  const std::string encoded = Full().Encode();
  for (size_t length = 0; length < encoded.size(); ++length) {
    const std::string cut = encoded.substr(0, length);
    ASSERT_FALSE(TableDescriptor::Decode(cut).ok()) << length;
  }
  SeededRandom random(kSeed);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = encoded;
    for (uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Next());
    }
    const Result<TableDescriptor> decoded = TableDescriptor::Decode(damaged);
    if (!decoded.ok()) {
      ASSERT_EQ(decoded.error().code(), ErrorCode::kCorruption) << "seed " << kSeed << ", " << i;
      continue;
    }
    ASSERT_TRUE(TableDescriptor::Decode(decoded->Encode()).ok()) << "seed " << kSeed << ", " << i;
  }
}

TEST(ItemValue, DamageIsCorruptionNotAbsence) {
  const std::string value = EncodeItemValue("item");
  ASSERT_TRUE(DecodeItemValue(value).ok());
  EXPECT_EQ(*DecodeItemValue(value), "item");
  for (const std::string& bad :
       {std::string(), value.substr(0, kv::kStampBytes), value.substr(0, kItemValueHeader),
        std::string(kv::kStampBytes, 'x') + "\x02" + "item"}) {
    const Result<std::string_view> decoded = DecodeItemValue(bad);
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorruption);
  }
}

}  // namespace
}  // namespace stator::table
