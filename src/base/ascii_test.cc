#include "base/ascii.h"

#include <gtest/gtest.h>

#include "base/fnv.h"

namespace stator {
namespace {

TEST(Ascii, LowerChangesLettersOfAsciiOnly) {
  EXPECT_EQ(LowerAscii("AZaz@[`{09\xc4"), "azaz@[`{09\xc4");
}

TEST(Ascii, EqualsIgnoringCase) {
  EXPECT_TRUE(EqualsIgnoringCase("", ""));
  EXPECT_TRUE(EqualsIgnoringCase("Content-Length", "content-lengtH"));
  EXPECT_FALSE(EqualsIgnoringCase("a", "ab"));
  EXPECT_FALSE(EqualsIgnoringCase("ab", "a"));
  EXPECT_FALSE(EqualsIgnoringCase("@", "`"));
  EXPECT_FALSE(EqualsIgnoringCase("\xc4", "\xe4"));
}

TEST(Ascii, EqualsLowerLowersTheFirstOnly) {
  EXPECT_TRUE(EqualsLower("GZip", "gzip"));
  EXPECT_FALSE(EqualsLower("gzip", "GZip"));
  EXPECT_FALSE(EqualsLower("gzip", "gzi"));
}

TEST(Ascii, TrimRemovesBlanksAtBothEnds) {
  EXPECT_EQ(Trim("  a b ", " "), "a b");
  EXPECT_EQ(Trim("\t a\t", " "), "\t a\t");
  EXPECT_EQ(Trim("\t a\r\n", " \t\r\n"), "a");
  EXPECT_EQ(Trim("   ", " "), "");
  EXPECT_EQ(Trim("", " "), "");
}

// The values that the authors of FNV publish (draft-eastlake-fnv).
TEST(Fnv1a, PublishedVectors) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(Fnv1a("bar", Fnv1a("foo")), Fnv1a("foobar"));
}

}  // namespace
}  // namespace stator
