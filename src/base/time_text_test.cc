#include "base/time_text.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(TimeTextTest, ParsesTimes) {
  const int64_t micros = 1'795'264'205'000'000;  // 2026-11-21T12:30:05Z
  EXPECT_EQ(ParseTime("2026-11-21T12:30:05Z"), micros);
  EXPECT_EQ(ParseTime("2026-11-21T12:30:05"), micros);
  EXPECT_EQ(ParseTime("2026-11-21 12:30:05Z"), micros);
  EXPECT_EQ(ParseTime("2026-11-21T14:30:05+02:00"), micros);
  EXPECT_EQ(ParseTime("2026-11-21T07:00:05-0530"), micros);
  EXPECT_EQ(ParseTime("2026-11-21T12:30:05.25Z"), micros + 250'000);
  EXPECT_EQ(ParseTime("2026-11-21T12:30:05.1234567Z"), micros + 123'456);
  EXPECT_EQ(ParseTime("2026-11-21T12:30"), micros - 5'000'000);
  EXPECT_EQ(ParseTime("2026-11-21"), micros - (12 * 3600 + 30 * 60 + 5) * int64_t{1'000'000});
  EXPECT_EQ(ParseTime("2024-02-29"), 1'709'164'800'000'000);
  EXPECT_EQ(ParseTime("1795264205"), micros);
  EXPECT_EQ(ParseTime("1795264205.25"), micros + 250'000);
  EXPECT_EQ(ParseTime("0"), 0);
  EXPECT_EQ(ParseTime("9999-12-31T23:59:59.999999Z"), kLastTimeMicros);
  for (const char* bad :
       {"", "x", "-1", "1e9", "1.", ".5", "2026-11-21T", "2026-13-01", "2026-02-29x", "2025-02-29",
        "2026-11-21T24:00", "2026-11-21T12:60", "2026-11-21T12:30:05.", "2026-11-21T12:30:05+2",
        "2026-11-21T12:30:05Zx", "1969-12-31", "1970-01-01T00:00+00:01", "99999999999999999999",
        "253402300800"}) {
    EXPECT_FALSE(ParseTime(bad)) << bad;
  }
}

TEST(TimeTextTest, Durations) {
  EXPECT_EQ(ParseDuration("90"), 90'000'000);
  EXPECT_EQ(ParseDuration("0.5"), 500'000);
  EXPECT_EQ(ParseDuration("0"), 0);
  EXPECT_EQ(ParseDuration("24h"), 86'400'000'000);
  EXPECT_EQ(ParseDuration("1.5h"), 5'400'000'000);
  EXPECT_EQ(ParseDuration("1d12h"), 129'600'000'000);
  EXPECT_EQ(ParseDuration("1h30m"), 5'400'000'000);
  EXPECT_EQ(ParseDuration("1m500ms"), 60'500'000);
  EXPECT_EQ(ParseDuration("2s"), 2'000'000);
  for (const char* bad : {"", "h", "-1h", "1 h", "1h30", "1w", "1hh", "1h ",
                          "99999999999999999999s", "9999999999d"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
}

TEST(TimeTextTest, FormattedTimesParse) {
  EXPECT_EQ(FormatTime(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatTime(1'795'264'205'250'999), "2026-11-21T12:30:05.250Z");
  EXPECT_EQ(FormatTime(kLastTimeMicros), "9999-12-31T23:59:59.999Z");
  for (int64_t micros :
       {int64_t{0}, int64_t{951'782'400'000'000}, int64_t{1'795'264'205'250'000}}) {
    EXPECT_EQ(ParseTime(FormatTime(micros)), micros);
  }
}

}  // namespace
}  // namespace stator
