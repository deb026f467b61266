#include "bulk/mask.h"

#include <gtest/gtest.h>

#include "bulk/test_items.h"

namespace stator::bulk {
namespace {

constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";

Mask MaskOf(std::string_view rules, const std::string& secret = kSecret) {
  Result<Mask> mask = Mask::Parse(rules, secret, "rules.toml");
  EXPECT_TRUE(mask.ok()) << (mask.ok() ? "" : mask.error().message());
  return *std::move(mask);
}

std::string Masked(std::string_view rules, std::string_view json,
                   const std::string& secret = kSecret) {
  const std::string item = ItemOf(json);
  return JsonOf(MaskOf(rules, secret).Apply(model::ItemView(item)));
}

std::string ErrorOf(std::string_view rules, const std::string& secret = kSecret) {
  const Result<Mask> mask = Mask::Parse(rules, secret, "rules.toml");
  return mask.ok() ? "" : mask.error().message();
}

std::string Rule(std::string_view path, std::string_view rest) {
  return "[[mask]]\npath = \"" + std::string(path) + "\"\n" + std::string(rest) + "\n";
}

TEST(Mask, DropsAttributesMembersAndElements) {
  const char* json = R"({"a":{"S":"x"},"l":{"L":[{"M":{"k":{"S":"1"},"n":{"N":"1"}}},{"S":"y"}]},)"
                     R"("m":{"M":{"b":{"S":"z"}}}})";
  EXPECT_EQ(Masked(Rule("a", "do = \"drop\"") + Rule("m.b", "do = \"drop\"") +
                       Rule("l[].k", "do = \"drop\"") + Rule("gone.b", "do = \"drop\""),
                   json),
            R"({"l":{"L":[{"M":{"n":{"N":"1"}}},{"S":"y"}]},"m":{"M":{}}})");
  EXPECT_EQ(Masked(Rule("l[]", "do = \"drop\""), R"({"l":{"L":[{"S":"x"},{"S":"y"}]}})"),
            R"({"l":{"L":[]}})");
}

TEST(Mask, EachOfASetIsItsMembers) {
  const char* json = R"({"s":{"SS":["x","y"]},"t":{"S":"z"}})";
  const std::string masked = Masked(Rule("s[]", "do = \"hash\""), json);
  EXPECT_EQ(masked.find("\"x\""), std::string::npos) << masked;
  EXPECT_EQ(masked, Masked(Rule("s", "do = \"hash\""), json));
  EXPECT_EQ(Masked(Rule("s[]", "do = \"drop\""), json), R"({"t":{"S":"z"}})");
  EXPECT_EQ(Masked(Rule("s[].a", "do = \"drop\""), json), json);
}

TEST(Mask, NamesWithDotsStandInArrays) {
  EXPECT_EQ(Masked("[[mask]]\npath = [\"a.b\"]\ndo = \"drop\"\n",
                   R"({"a":{"M":{"b":{"S":"x"}}},"a.b":{"S":"y"}})"),
            R"({"a":{"M":{"b":{"S":"x"}}}})");
}

TEST(Mask, ConstantsHaveTheirOwnType) {
  EXPECT_EQ(Masked(Rule("a", "do = \"constant\"\nvalue = \"x\"") +
                       Rule("b", "do = \"constant\"\nvalue = 7") +
                       Rule("c", "do = \"constant\"\nvalue = true"),
                   R"({"a":{"N":"1"},"b":{"S":"2"},"c":{"L":[]}})"),
            R"({"a":{"S":"x"},"b":{"N":"7"},"c":{"BOOL":true}})");
}

TEST(Mask, HashesAreEqualForEqualValuesOfOneSecret) {
  const std::string rules = Rule("a", "do = \"hash\"");
  for (const char* json :
       {R"({"a":{"S":"x"}})", R"({"a":{"N":"-12.5"}})", R"({"a":{"B":"AAE="}})",
        R"({"a":{"SS":["x","y"]}})", R"({"a":{"NS":["1","2"]}})", R"({"a":{"BS":["AA=="]}})",
        R"({"a":{"BOOL":true}})", R"({"a":{"L":[{"S":"x"}]}})", R"({"a":{"M":{"x":{"S":"y"}}}})"}) {
    const std::string once = Masked(rules, json);
    EXPECT_NE(once, json);
    EXPECT_EQ(once, Masked(rules, json));
    EXPECT_NE(once, Masked(rules, json, "another secret of some length")) << json;
  }
}

TEST(Mask, KeysKeepTheirType) {
  for (const char* action :
       {"do = \"hash\"", "do = \"fake\"\nas = \"name\"", "do = \"fake\"\nas = \"email\"",
        "do = \"fake\"\nas = \"phone\"", "do = \"fake\"\nas = \"digits\""}) {
    for (const char* type : {"S", "N", "B"}) {
      const std::string json = std::string("{\"k\":{\"") + type + "\":\"" +
                               (std::string(type) == "B" ? "AAEC" : "1234") + "\"}}";
      const std::string masked = Masked(Rule("k", action), json);
      EXPECT_NE(masked, json);
      EXPECT_EQ(masked.substr(0, 10), json.substr(0, 10));
    }
  }
}

TEST(Mask, FakesLookLikeWhatTheyReplace) {
  const std::string mail =
      Masked(Rule("e", "do = \"fake\"\nas = \"email\""), R"({"e":{"S":"me@home.org"}})");
  EXPECT_NE(mail.find("@example.com\"}}"), std::string::npos) << mail;
  EXPECT_EQ(mail.find("home"), std::string::npos);
  const std::string card =
      Masked(Rule("c", "do = \"fake\"\nas = \"digits\""), R"({"c":{"S":"4111-1111-1111-1111"}})");
  EXPECT_EQ(card.size(), std::string(R"({"c":{"S":"4111-1111-1111-1111"}})").size());
  EXPECT_EQ(card.find("4111-1111"), std::string::npos);
  EXPECT_EQ(card[15], '-');
  const std::string huge = "1" + std::string(120, '0');
  EXPECT_NE(Masked(Rule("n", "do = \"fake\"\nas = \"digits\""), R"({"n":{"N":")" + huge + R"("}})")
                .find(R"({"n":{"N":)"),
            std::string::npos);
}

TEST(Mask, LettersOfDigitsAreReplacedToo) {
  const std::string masked =
      Masked(Rule("c", "do = \"fake\"\nas = \"digits\""), R"({"c":{"S":"Bj\u00f6rn Borg 42"}})");
  EXPECT_EQ(masked.find("rn"), std::string::npos);
  EXPECT_EQ(masked.find("Borg"), std::string::npos);
}

TEST(Mask, RulesThatAreNoneAreRefusedByLine) {
  EXPECT_NE(ErrorOf("[[mask]]\npath = \"a\"\ndo = \"erase\"\n").find("rules.toml:1: do:"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[mask]]\npath = \"a..b\"\ndo = \"drop\"\n").find("rules.toml:2: path:"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[mask]]\npath = \"a\"\ndo = \"drop\"\nsalt = 1\n").find(":4: salt:"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[masks]]\npath = \"a\"\n").find("masks"), std::string::npos);
  EXPECT_NE(ErrorOf(Rule("a", "do = \"fake\"")).find("as:"), std::string::npos);
  EXPECT_NE(ErrorOf(Rule("a", "do = \"hash\""), "").find("secret"), std::string::npos);
  EXPECT_NE(ErrorOf("path = [").find("rules.toml:1"), std::string::npos);
}

TEST(Mask, KeysAreNotTakenAway) {
  model::KeySchema key;
  key.partition = {"pk", model::Type::kS};
  EXPECT_FALSE(MaskOf(Rule("pk", "do = \"drop\"")).CheckKeys(key).ok());
  EXPECT_FALSE(MaskOf(Rule("pk", "do = \"constant\"\nvalue = \"x\"")).CheckKeys(key).ok());
  EXPECT_TRUE(MaskOf(Rule("pk", "do = \"hash\"")).CheckKeys(key).ok());
  EXPECT_TRUE(MaskOf(Rule("other", "do = \"drop\"")).CheckKeys(key).ok());
}

TEST(Mask, FingerprintTellsRulesAndSecretsApart) {
  const std::string rules = Rule("a", "do = \"hash\"");
  EXPECT_EQ(MaskOf(rules).fingerprint(), MaskOf(rules).fingerprint());
  EXPECT_NE(MaskOf(rules).fingerprint(), MaskOf(rules + "\n").fingerprint());
  EXPECT_NE(MaskOf(rules).fingerprint(), MaskOf(rules, "0123456789abcdefg").fingerprint());
}

}  // namespace
}  // namespace stator::bulk
