#include "model/fields.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace stator::model {
namespace {

struct Inner {
  std::string name;
  int count = 0;
  bool operator==(const Inner&) const = default;
};
template <typename Visitor, typename T>
void VisitInner(Visitor& v, T& t) {
  v.String("Name", t.name);
  v.Integer("Count", t.count);
}

struct Outer {
  std::string text, maybe;
  int64_t number = 0;
  uint8_t small = 0;
  bool flag = false;
  std::optional<int64_t> option;
  KeySchema key;
  std::map<std::string, std::string> tags;
  std::vector<uint64_t> stamps;
  std::vector<Inner> list;
  std::optional<Inner> one;
  bool operator==(const Outer&) const = default;
};
template <typename Visitor, typename T>
void VisitOuter(Visitor& v, T& t) {
  const auto inner = [](auto& visitor, auto& value) { VisitInner(visitor, value); };
  v.String("Text", t.text);
  v.StringIfAny("Maybe", t.maybe);
  v.Integer("Number", t.number);
  v.Integer("Small", t.small);
  v.Bool("Flag", t.flag);
  v.Optional("Option", t.option);
  v.Key("Key", t.key);
  v.Strings("Tags", t.tags);
  v.Unsigned("Stamps", t.stamps);
  v.Structures("List", t.list, inner);
  v.Structure("One", t.one, inner);
}

Outer Full() {
  return {.text = "a \"b\"",
          .maybe = "here",
          .number = INT64_MIN,
          .small = 255,
          .flag = true,
          .option = -7,
          .key = {{"pk", Type::kS}, KeyAttribute{"sk:x", Type::kN}},
          .tags = {{"", "empty"}, {"z", ""}},
          .stamps = {0, UINT64_MAX},
          .list = {{"one", 1}, {"two", -2}},
          .one = Inner{"alone", 3}};
}

std::string Written(const Outer& outer) {
  FieldWriter writer;
  VisitOuter(writer, outer);
  return writer.Finish();
}

bool Read(const std::string& item, Outer* outer) {
  FieldReader reader(ItemView(item).attributes());
  VisitOuter(reader, *outer);
  return reader.ok();
}

TEST(FieldsTest, StructureIsReadAsItWasWritten) {
  for (const Outer& outer : {Full(), Outer{.key = {{"p", Type::kB}, std::nullopt}}}) {
    const std::string item = Written(outer);
    ASSERT_TRUE(CheckItem(item).ok());
    Outer back;
    EXPECT_TRUE(Read(item, &back));
    EXPECT_EQ(back, outer);
  }
}

TEST(FieldsTest, ReaderIgnoresUnknownMembers) {
  FieldWriter writer;
  const Outer outer = Full();
  VisitOuter(writer, outer);
  writer.String("Unknown", "member of a newer version");
  Outer back;
  EXPECT_TRUE(Read(writer.Finish(), &back));
  EXPECT_EQ(back, outer);
}

TEST(FieldsTest, MissingMemberFailsUnlessItIsOptional) {
  FieldWriter empty;
  Outer untouched = Full();
  EXPECT_FALSE(Read(empty.Finish(), &untouched));
  EXPECT_EQ(untouched.text, Full().text);  // absent members stay as they were
  std::string text = "as it was";
  const std::string item = empty.Finish();
  FieldReader reader(ItemView(item).attributes());
  std::optional<int64_t> option;
  reader.StringIfAny("Maybe", text);
  reader.Optional("Option", option);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(text, "as it was");
}

TEST(FieldsTest, WrongTypeOrRangeFails) {
  const auto fails = [](const std::function<void(FieldWriter&)>& write,
                        const std::function<void(FieldReader&)>& read) {
    FieldWriter writer;
    write(writer);
    const std::string item = writer.Finish();
    FieldReader reader(ItemView(item).attributes());
    read(reader);
    return !reader.ok();
  };
  std::string text;
  uint8_t small = 0;
  KeySchema key;
  std::vector<uint64_t> stamps;
  std::vector<Inner> list;
  const auto inner = [](auto& visitor, auto& value) { VisitInner(visitor, value); };
  EXPECT_TRUE(fails([](FieldWriter& w) { w.Integer("X", 1); },
                    [&](FieldReader& r) { r.String("X", text); }));
  EXPECT_TRUE(fails([](FieldWriter& w) { w.Integer("X", 256); },
                    [&](FieldReader& r) { r.Integer("X", small); }));
  EXPECT_TRUE(fails(
      [](FieldWriter& w) {
        w.Texts("X", {"S:a", "S:b", "S:c"});
      },
      [&](FieldReader& r) { r.Key("X", key); }));
  EXPECT_TRUE(fails([](FieldWriter& w) { w.Texts("X", {"Q:a"}); },
                    [&](FieldReader& r) { r.Key("X", key); }));
  for (const char* bad : {"", "-1", "12x", "18446744073709551616"}) {
    EXPECT_TRUE(fails([bad](FieldWriter& w) { w.Texts("X", {bad}); },
                      [&](FieldReader& r) { r.Unsigned("X", stamps); }))
        << bad;
  }
  EXPECT_TRUE(fails([](FieldWriter& w) { w.Texts("X", {"no structure"}); },
                    [&](FieldReader& r) { r.Structures("X", list, inner); }));
}

TEST(KeySchemaTest, KeyAttributesAreThoseOfTheKeyInTheOrderOfNames) {
  FieldWriter writer;
  writer.String("a", "sort");
  writer.String("m", "other");
  writer.String("z", "partition");
  const std::string item = writer.Finish();
  const KeySchema schema = {{"z", Type::kS}, KeyAttribute{"a", Type::kS}};
  const std::string key = KeyAttributesOf(schema, ItemView(item));
  ASSERT_TRUE(CheckItem(key).ok());
  EXPECT_EQ(ItemView(key).attributes().size(), 2u);
  EXPECT_EQ(ItemView(key).Find("z").text(), "partition");
  EXPECT_EQ(ItemView(key).Find("a").text(), "sort");
  EXPECT_TRUE(
      ItemView(KeyAttributesOf({{"z", Type::kS}, std::nullopt}, ItemView(item))).Find("a").empty());
}

TEST(KeySchemaTest, IndexKeyKnowsItsAttributes) {
  const IndexKeySchema key = IndexKeySchema::Of({{"p", Type::kS}, KeyAttribute{"s", Type::kN}});
  EXPECT_TRUE(key.Has("p"));
  EXPECT_TRUE(key.Has("s"));
  EXPECT_FALSE(key.Has("x"));
  EXPECT_FALSE(key.HasSeveral());
  EXPECT_TRUE((IndexKeySchema{{{"a"}, {"b"}}, {}}).HasSeveral());
}

}  // namespace
}  // namespace stator::model
