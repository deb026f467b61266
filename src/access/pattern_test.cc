#include "access/pattern.h"
#include "base/ascii.h"

#include <gtest/gtest.h>

namespace stator::access {
namespace {

TEST(Glob, MatchesWholeTexts) {
  EXPECT_TRUE(Glob("*").Matches(""));
  EXPECT_TRUE(Glob("a*c").Matches("ac"));
  EXPECT_TRUE(Glob("a*c").Matches("abcbc"));
  EXPECT_FALSE(Glob("a*c").Matches("abcb"));
  EXPECT_TRUE(Glob("a?c").Matches("abc"));
  EXPECT_FALSE(Glob("a?c").Matches("ac"));
  EXPECT_FALSE(Glob("abc").Matches("ABC"));
  EXPECT_TRUE(Glob::IgnoringCase("aB*").Matches("Abx"));
  EXPECT_FALSE(Glob("").Matches("a"));
  EXPECT_TRUE(Glob("").Matches(""));
  EXPECT_TRUE(Glob("**a**").Matches("xax"));
}

TEST(Glob, QuestionMarkTakesOneCodePoint) {
  EXPECT_TRUE(
      Glob("a?c").Matches("a\xc3\xa9"
                          "c"));
  EXPECT_FALSE(
      Glob("a??c").Matches("a\xc3\xa9"
                           "c"));
  EXPECT_TRUE(Glob("?").Matches("\xf0\x9f\x98\x80"));
}

// Without the rule that only the last '*' is tried again this takes 2^30 steps.
TEST(Glob, CostIsBounded) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  pattern += "b";
  EXPECT_FALSE(Glob(pattern).Matches(std::string(20'000, 'a')));
}

TEST(Template, ReplacesVariables) {
  RequestContext context;
  context.Set(ContextKey::kUsername, "al*ce");
  context.Add(ContextKey::kPrincipalTag, "team", "blue");
  bool unresolved = false;
  const auto matches = [&](std::string_view pattern, std::string_view text,
                           Template::Wildcards wildcards = Template::Wildcards::kActive) {
    unresolved = false;
    return Template(pattern, true, wildcards).Matches(text, context, &unresolved);
  };
  EXPECT_TRUE(matches("table/${aws:username}", "table/al*ce"));
  EXPECT_FALSE(matches("table/${aws:username}", "table/alice")) << "a value's '*' is literal";
  EXPECT_TRUE(matches("${AWS:UserName}-*", "al*ce-x"));
  EXPECT_TRUE(matches("${aws:principaltag/TEAM}", "blue"));
  EXPECT_TRUE(matches("a${*}b${?}${$}{x}", "a*b?${x}"));
  EXPECT_FALSE(matches("a${*}b", "axb"));
  EXPECT_TRUE(matches("${aws:SourceIdentity, 'nobody'}", "nobody"));
  EXPECT_FALSE(unresolved);
  EXPECT_FALSE(matches("${aws:SourceIdentity}", ""));
  EXPECT_TRUE(unresolved);
  EXPECT_FALSE(matches("*${aws:SourceIdentity}*", "anything"));
  EXPECT_TRUE(unresolved);
  EXPECT_TRUE(matches("${aws:username", "${aws:username"));
  EXPECT_TRUE(matches("a*", "a*", Template::Wildcards::kLiteral));
  EXPECT_FALSE(matches("a*", "ab", Template::Wildcards::kLiteral));
}

TEST(Template, ListsHaveNoSingleValue) {
  RequestContext context;
  const std::string_view list[] = {"alice"};
  context.SetList(ContextKey::kLeadingKeys, list);
  bool unresolved = false;
  const Template pattern("${dynamodb:LeadingKeys}", true, Template::Wildcards::kActive);
  EXPECT_FALSE(pattern.Matches("alice", context, &unresolved));
  EXPECT_TRUE(unresolved);
  EXPECT_TRUE(pattern.keys().Has(ContextKey::kLeadingKeys));
}

TEST(Template, VariablesAreTextInOldDocuments) {
  const RequestContext context;
  bool unresolved = false;
  EXPECT_TRUE(Template("${aws:username}", false, Template::Wildcards::kActive)
                  .Matches("${aws:username}", context, &unresolved));
  EXPECT_FALSE(unresolved);
}

TEST(ContextKeys, NamesResolveInAnyCase) {
  for (size_t i = 0; i + 1 < kContextKeys; ++i) {
    const auto key = static_cast<ContextKey>(i);
    std::string name(ContextKeyName(key));
    const bool family = key == ContextKey::kPrincipalTag || key == ContextKey::kResourceTag ||
                        key == ContextKey::kRequestTag;
    if (family) name += "/Team";
    for (const bool lower : {false, true}) {
      if (lower) {
        for (char& c : name) c = LowerAscii(c);
      }
      const KeyName resolved = ResolveKey(name);
      EXPECT_EQ(resolved.key, key) << name;
      EXPECT_EQ(resolved.tag.empty(), !family) << name;
    }
  }
  EXPECT_EQ(ResolveKey("aws:PrincipalTag").key, ContextKey::kOther);
  EXPECT_EQ(ResolveKey("aws:PrincipalTag/").key, ContextKey::kOther);
  EXPECT_EQ(ResolveKey("dynamodb:ResourceTag/x").key, ContextKey::kOther);
}

}  // namespace
}  // namespace stator::access
