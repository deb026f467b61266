#include "base/printable.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(Printable, LeavesTextOfAnyLanguage) {
  for (std::string_view text :
       {"", "plain text 123", "Grüße", "日本語", "שלום", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_TRUE(IsPrintable(text)) << text;
  }
}

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(Printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(Printable(std::string_view("\0\x1b[2J\x7f", 6)), "\\x00\\x1b[2J\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\u009b") << "CSI of one character";
  EXPECT_EQ(Printable("\xc2\x80\xc2\x9f\xc2\xa0"), "\\u0080\\u009f\xc2\xa0");
  EXPECT_EQ(Printable("\xe2\x80\xae"
                      "abc\xe2\x80\xac"),
            "\\u202eabc\\u202c");
  EXPECT_EQ(Printable("\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c"),
            "\\u2066\\u2069\\u200e\\u200f\\u061c");
  EXPECT_EQ(Printable("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
  EXPECT_FALSE(IsPrintable("\xe2\x80\xae"));
  EXPECT_FALSE(IsPrintable("a\n"));
}

TEST(Printable, LinesOfAReportStay) {
  EXPECT_EQ(PrintableLines("a\n\n b\x1b\n"), "a\n\n b\\x1b\n");
  EXPECT_EQ(PrintableLines("a\nb"), "a\nb");
  EXPECT_EQ(PrintableLines(""), "");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("\x80"), "\\x80");
  EXPECT_EQ(Printable("\x9b[2J"), "\\x9b[2J") << "CSI of one byte";
  EXPECT_EQ(Printable("\xc3"), "\\xc3");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf") << "too long";
  EXPECT_EQ(Printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(Printable("\xe2\x80"), "\\xe2\\x80");
  EXPECT_FALSE(IsPrintable("\xff"));
}

}  // namespace
}  // namespace stator
