#include "access/condition.h"

#include <gtest/gtest.h>

namespace stator::access {
namespace {

class ConditionTest : public testing::Test {
 protected:
  // `values` is JSON.
  Result<Condition> Compile(std::string_view operation, std::string_view key,
                            std::string_view values) {
    const Result<JsonValue> json = ReadJson(values);
    EXPECT_TRUE(json.ok()) << values;
    return Condition::Compile(operation, key, *json, true);
  }
  bool Holds(std::string_view operation, std::string_view key, std::string_view values) {
    const Result<Condition> condition = Compile(operation, key, values);
    EXPECT_TRUE(condition.ok()) << condition.error().message();
    return condition.ok() && condition->Holds(context_);
  }
  // Holds for a user agent of `text`.
  bool Agent(std::string_view operation, std::string_view values, std::string_view text) {
    context_.Set(ContextKey::kUserAgent, text);
    return Holds(operation, "aws:UserAgent", values);
  }

  RequestContext context_;
};

TEST_F(ConditionTest, Strings) {
  EXPECT_TRUE(Agent("StringEquals", R"(["a", "b"])", "b"));
  EXPECT_FALSE(Agent("StringEquals", R"(["a", "b"])", "B"));
  EXPECT_FALSE(Agent("StringEquals", R"("a*")", "ab"));
  EXPECT_FALSE(Agent("StringNotEquals", R"(["a", "b"])", "b"));
  EXPECT_TRUE(Agent("StringNotEquals", R"(["a", "b"])", "c"));
  EXPECT_TRUE(Agent("stringEqualsignoreCASE", R"("aB")", "Ab"));
  EXPECT_FALSE(Agent("StringNotEqualsIgnoreCase", R"("aB")", "Ab"));
  EXPECT_TRUE(Agent("StringLike", R"("a*")", "ab"));
  EXPECT_FALSE(Agent("StringNotLike", R"(["x", "a*"])", "ab"));
  EXPECT_FALSE(Agent("StringEquals", "[]", "a"));
  EXPECT_TRUE(Agent("StringNotEquals", "[]", "a"));
}

TEST_F(ConditionTest, MissingKeys) {
  EXPECT_FALSE(Holds("StringEquals", "aws:UserAgent", R"("a")"));
  EXPECT_TRUE(Holds("StringNotEquals", "aws:UserAgent", R"("a")"));
  EXPECT_TRUE(Holds("StringEqualsIfExists", "aws:UserAgent", R"("a")"));
  EXPECT_TRUE(Holds("StringNotEqualsIfExists", "aws:UserAgent", R"("a")"));
  EXPECT_TRUE(Holds("ForAllValues:StringEquals", "dynamodb:LeadingKeys", R"("a")"));
  EXPECT_FALSE(Holds("ForAnyValue:StringEquals", "dynamodb:LeadingKeys", R"("a")"));
  EXPECT_FALSE(Holds("ForAnyValue:StringNotEquals", "dynamodb:LeadingKeys", R"("a")"));
  EXPECT_TRUE(Holds("Null", "aws:TokenIssueTime", "true"));
  EXPECT_FALSE(Holds("Null", "aws:TokenIssueTime", R"("False")"));
  EXPECT_TRUE(Holds("NotIpAddress", "aws:SourceIp", R"("10.0.0.0/8")"));
  EXPECT_TRUE(Holds("NumericNotEquals", "aws:MultiFactorAuthAge", "1"));
  EXPECT_FALSE(Holds("NumericLessThan", "aws:MultiFactorAuthAge", "1"));
}

// An operator without a set prefix must not let any value of a list decide.
TEST_F(ConditionTest, ListsNeedASetPrefix) {
  const std::string_view one[] = {"alice"};
  context_.SetList(ContextKey::kLeadingKeys, one);
  for (const char* operation :
       {"StringEquals", "StringNotEquals", "StringLike", "StringNotLike", "StringEqualsIfExists",
        "StringNotEqualsIfExists", "StringEqualsIgnoreCase", "ArnNotLike", "NumericNotEquals"}) {
    const std::string_view value =
        std::string_view(operation) == "ArnNotLike" ? R"("arn:a:b:c:d:e")" : R"("1")";
    EXPECT_FALSE(Holds(operation, "dynamodb:LeadingKeys", value)) << operation;
  }
  EXPECT_TRUE(Holds("Null", "dynamodb:LeadingKeys", "false"));
}

TEST_F(ConditionTest, Sets) {
  const std::string_view keys[] = {"a", "b"};
  context_.SetList(ContextKey::kLeadingKeys, keys);
  const auto holds = [&](std::string_view operation, std::string_view values) {
    return Holds(operation, "dynamodb:LeadingKeys", values);
  };
  EXPECT_TRUE(holds("ForAllValues:StringEquals", R"(["a", "b", "c"])"));
  EXPECT_FALSE(holds("ForAllValues:StringEquals", R"(["a", "c"])"));
  EXPECT_TRUE(holds("ForAnyValue:StringEquals", R"(["a", "c"])"));
  EXPECT_FALSE(holds("ForAnyValue:StringEquals", R"(["c"])"));
  EXPECT_TRUE(holds("ForAllValues:StringNotEquals", R"(["c", "d"])"));
  EXPECT_FALSE(holds("ForAllValues:StringNotEquals", R"(["b"])"));
  EXPECT_TRUE(holds("ForAnyValue:StringNotEquals", R"(["b"])"));
  context_.SetList(ContextKey::kLeadingKeys, {});
  EXPECT_TRUE(holds("ForAllValues:StringEquals", R"("a")"));
  EXPECT_FALSE(holds("ForAnyValue:StringEquals", R"("a")"));
  // A key of one value is a set of one.
  EXPECT_FALSE(Agent("ForAllValues:StringEquals", R"("a")", "b"));
  EXPECT_TRUE(Agent("ForAnyValue:StringEquals", R"("b")", "b"));
}

TEST_F(ConditionTest, Variables) {
  context_.Set(ContextKey::kUsername, "alice");
  const std::string_view keys[] = {"alice"};
  context_.SetList(ContextKey::kLeadingKeys, keys);
  EXPECT_TRUE(Holds("ForAllValues:StringEquals", "dynamodb:LeadingKeys", R"("${aws:username}")"));
  EXPECT_TRUE(Agent("StringNotEquals", R"("${aws:SourceIdentity}")", "x")) << "no value: unequal";
  EXPECT_FALSE(Agent("StringEquals", R"("${aws:SourceIdentity}")", "x"));
  const Result<Condition> condition = Compile("StringLike", "aws:UserAgent", R"("${aws:userid}*")");
  ASSERT_TRUE(condition.ok());
  EXPECT_EQ(condition->keys(), KeySet::Of(ContextKey::kUserAgent, ContextKey::kUserId));
  context_.Add(ContextKey::kPrincipalTag, "flag", "TRUE");
  context_.Set(ContextKey::kSecureTransport, "true");
  EXPECT_TRUE(Holds("Bool", "aws:SecureTransport", R"("${aws:PrincipalTag/flag}")"));
  EXPECT_FALSE(Holds("Bool", "aws:SecureTransport", R"("${aws:PrincipalTag/none}")"));
}

TEST_F(ConditionTest, Numbers) {
  EXPECT_TRUE(Agent("NumericEquals", "12.50", "12.5"));
  EXPECT_TRUE(Agent("NumericEquals", R"("1e2")", "100"));
  EXPECT_FALSE(Agent("NumericNotEquals", "[1, 2]", "2.0"));
  EXPECT_TRUE(Agent("NumericLessThan", "-1", "-1.5"));
  EXPECT_FALSE(Agent("NumericLessThan", "-2", "-1.5"));
  EXPECT_TRUE(Agent("NumericLessThanEquals", "0", "-0"));
  EXPECT_TRUE(Agent("NumericGreaterThan", R"("9007199254740992")", "9007199254740993"));
  EXPECT_TRUE(Agent("NumericGreaterThanEquals", "0.001", "0.0010"));
  for (const char* operation : {"NumericEquals", "NumericNotEquals", "NumericLessThan"}) {
    EXPECT_FALSE(Agent(operation, "1", "1x")) << operation;
    EXPECT_FALSE(Agent(operation, "1", "")) << operation;
  }
}

TEST_F(ConditionTest, Dates) {
  constexpr char kNoon[] = R"("2026-01-31T12:00:00Z")";
  EXPECT_TRUE(Agent("DateEquals", kNoon, "2026-01-31T13:00:00+01:00"));
  EXPECT_TRUE(Agent("DateEquals", kNoon, "1769860800"));
  EXPECT_TRUE(Agent("DateLessThan", kNoon, "2026-01-31T11:59:59.999Z"));
  EXPECT_FALSE(Agent("DateLessThan", kNoon, "2026-01-31T12:00:00Z"));
  EXPECT_TRUE(Agent("DateLessThanEquals", kNoon, "2026-01-31T12:00:00Z"));
  EXPECT_TRUE(Agent("DateGreaterThan", R"("2026-01")", "2026-01-01T00:01Z"));
  EXPECT_TRUE(Agent("DateGreaterThanEquals", R"("2026-02-28")", "2026-02-28"));
  EXPECT_FALSE(Agent("DateNotEquals", kNoon, "2026-01-31T12:00:00Z"));
  EXPECT_FALSE(Agent("DateNotEquals", kNoon, "noon"));
}

TEST_F(ConditionTest, Addresses) {
  EXPECT_TRUE(Agent("IpAddress", R"(["10.0.0.0/8", "192.168.0.1"])", "192.168.0.1"));
  EXPECT_FALSE(Agent("IpAddress", R"("10.0.0.0/9")", "10.128.0.0"));
  EXPECT_TRUE(Agent("IpAddress", R"("0.0.0.0/0")", "255.1.1.1"));
  EXPECT_TRUE(Agent("IpAddress", R"("10.0.0.0/8")", "::ffff:10.1.2.3"));
  EXPECT_TRUE(Agent("IpAddress", R"("2001:db8::/33")", "2001:db8:7fff::1"));
  EXPECT_FALSE(Agent("IpAddress", R"("2001:db8::/33")", "2001:db8:8000::1"));
  EXPECT_FALSE(Agent("IpAddress", R"("0.0.0.0/0")", "2001:db8::1"));
  EXPECT_TRUE(Agent("NotIpAddress", R"("0.0.0.0/0")", "2001:db8::1"));
  EXPECT_FALSE(Agent("NotIpAddress", R"("10.0.0.0/8")", "unknown"));
}

TEST_F(ConditionTest, BooleansAndBytes) {
  EXPECT_TRUE(Agent("Bool", "true", "TRUE"));
  EXPECT_FALSE(Agent("Bool", R"("false")", "true"));
  EXPECT_TRUE(Agent("Bool", R"(["true", "false"])", "true"));
  EXPECT_FALSE(Agent("Bool", "true", "1"));
  EXPECT_TRUE(Agent("BinaryEquals", R"("AAEC")", "AAEC"));
  EXPECT_FALSE(Agent("BinaryEquals", R"("AAEC")", "AAED"));
}

TEST_F(ConditionTest, Arns) {
  constexpr char kRole[] = "arn:aws:iam::111122223333:role/app/a:b";
  EXPECT_TRUE(Agent("ArnLike", R"("arn:aws:iam::*:role/app/*")", kRole));
  EXPECT_TRUE(Agent("ArnEquals", R"("arn:aws:iam::111122223333:role/app/?:b")", kRole));
  EXPECT_FALSE(Agent("ArnLike", R"("arn:*:iam:role/app/a:b:::")", kRole))
      << "'*' keeps to its part";
  EXPECT_FALSE(Agent("ArnNotEquals", R"("arn:aws:iam::111122223333:role/*")", kRole));
  EXPECT_TRUE(Agent("ArnNotLike", R"("arn:aws:iam::111122223333:user/*")", kRole));
  EXPECT_FALSE(Agent("ArnNotLike", R"("arn:aws:iam::1:user/*")", "app")) << "not an ARN";
}

TEST_F(ConditionTest, RefusesWhatCouldNeverMatch) {
  const auto fault = [&](std::string_view operation, std::string_view key,
                         std::string_view values) -> std::string {
    const Result<Condition> condition = Compile(operation, key, values);
    return condition.ok() ? "ok" : condition.error().message();
  };
  EXPECT_EQ(fault("StringSame", "aws:userid", R"("a")"), "Invalid Condition type : StringSame");
  EXPECT_EQ(fault("NullIfExists", "aws:userid", "true"), "Invalid Condition type : NullIfExists");
  EXPECT_EQ(fault("ForSomeValues:Bool", "aws:userid", "true"),
            "Invalid Condition type : ForSomeValues:Bool");
  EXPECT_EQ(fault("Bool", "userid", "true"),
            "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.");
  EXPECT_EQ(fault("StringEquals", "aws:userid", R"({"a": 1})"), "Syntax errors in policy.");
  EXPECT_EQ(fault("StringEquals", "aws:userid", R"(["a", null])"), "Syntax errors in policy.");
  EXPECT_EQ(fault("NumericLessThan", "aws:userid", R"("${aws:userid}")"),
            R"(Condition value "${aws:userid}" is not a number.)");
  for (const char* operation : {"NumericEquals", "DateEquals", "Bool", "Null", "BinaryEquals",
                                "IpAddress", "NotIpAddress", "ArnLike"})
    EXPECT_NE(fault(operation, "aws:userid", R"("@")"), "ok") << operation;
}

TEST(Operands, Decimals) {
  const auto compare = [](std::string_view a, std::string_view b) {
    return Compare(*ParseDecimal(a), *ParseDecimal(b));
  };
  const char* const rising[] = {"-1e5",
                                "-10.5",
                                "-10",
                                "-0.001",
                                "0",
                                "0.0009",
                                "0.001",
                                "1",
                                "1.5",
                                "10",
                                "99999999999999999999999999999999999999.1"};
  for (size_t i = 0; i < std::size(rising); ++i) {
    for (size_t j = 0; j < std::size(rising); ++j) {
      const int order = compare(rising[i], rising[j]);
      EXPECT_EQ(order < 0, i < j) << rising[i] << " " << rising[j];
      EXPECT_EQ(order == 0, i == j) << rising[i] << " " << rising[j];
    }
  }
  EXPECT_EQ(compare("-0", "0.000"), 0);
  for (const char* text : {"", "-", ".", "1.", ".e1", "1e", "1e99999", "0x1", " 1", "1 ", "--1"})
    EXPECT_FALSE(ParseDecimal(text)) << text;
}

TEST(Operands, Dates) {
  for (const char* text :
       {"", "2026-13", "2026-02-30", "2026-1-1", "2026-01-01T", "2026-01-01T24:00Z",
        "2026-01-01T12:00", "2026-01-01T12:00:00+0100", "2026-01-01T12:00:60Z",
        "2026-01-01T12:00:00.Z", "2026-01-01 12:00Z", "-5", "99999999999999999999"})
    EXPECT_FALSE(ParseDate(text)) << text;
  EXPECT_EQ(ParseDate("1970-01-01T00:00:01.25-00:30"), 1'801'250'000);
  EXPECT_EQ(ParseDate("1970-01-02"), 86'400'000'000);
}

TEST(Operands, AddressRanges) {
  for (const char* text : {"", "10.0.0", "10.0.0.256", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
                           "::/129", "::g", "10.0.0.0/8/8", "10.0.0.0/0008"})
    EXPECT_FALSE(ParseAddressRange(text)) << text;
  EXPECT_FALSE(ParseAddressRange("::ffff:10.0.0.0/104")->v6);
  EXPECT_EQ(ParseAddressRange("::ffff:10.0.0.0/104")->prefix, 8);
}

}  // namespace
}  // namespace stator::access
