#include "ops/fault_dial.h"

#include <gtest/gtest.h>

namespace stator::ops {
namespace {

// "fault=throttle probability=0.5 operations=GetItem,PutItem"
std::vector<FaultSetting> Settings(const std::string& text) {
  std::vector<FaultSetting> settings;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    FaultSetting& setting = settings.emplace_back();
    setting.name = one.substr(0, one.find('='));
    const std::string values = one.substr(one.find('=') + 1);
    for (size_t at = 0; at <= values.size();) {
      const size_t comma = std::min(values.find(',', at), values.size());
      setting.values.push_back(values.substr(at, comma - at));
      at = comma + 1;
    }
    begin = end + 1;
  }
  return settings;
}
FaultRule Rule(const std::string& text) { return MakeFaultRule(Settings(text)).value(); }

// Which of the next requests are struck.
std::string Strikes(FaultDial& dial, Fault fault, const std::string& table,
                    const std::string& operation, int requests) {
  std::string out;
  for (int i = 0; i < requests; ++i) out.push_back(dial.Draw(fault, table, operation) ? 'x' : '.');
  return out;
}

TEST(FaultRule, SettingsComeBackAsTheyWere) {
  for (const char* text :
       {"fault=throttle probability=0.25 operations=GetItem,PutItem count=3 seed=7 cause=key-range "
        "index=i",
        "fault=stale-read seed=1 age=2s random=true", "fault=index-delay seed=1 delay=1m index=i",
        "fault=error seed=1 when=after", "fault=error seed=1 when=before", "fault=conflict seed=1",
        "fault=unprocessed seed=1 share=0.1", "fault=slow seed=1 delay=250ms",
        "fault=in-progress seed=1"}) {
    const std::vector<FaultSetting> again = SettingsOf(Rule(text));
    const std::vector<FaultSetting> given = Settings(text);
    ASSERT_EQ(again.size(), given.size()) << text;
    for (const FaultSetting& setting : given) {
      const auto same = std::find_if(again.begin(), again.end(),
                                     [&](const auto& s) { return s.name == setting.name; });
      ASSERT_NE(same, again.end()) << text;
      EXPECT_EQ(same->values, setting.values) << text;
    }
  }
}

TEST(FaultRule, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"probability=1", "a rule needs fault"},
      {"fault=lightning", "there is no fault lightning; there are stale-read, index-delay"},
      {"fault=throttle probability=0",
       "fault throttle: probability must be above 0 and at most 1, not \"0\""},
      {"fault=throttle probability=1.5", "not \"1.5\""},
      {"fault=throttle probability=nan", "not \"nan\""},
      {"fault=throttle probability=often", "not \"often\""},
      {"fault=throttle count=0", "count must be a whole number from 1"},
      {"fault=throttle count=1.5", "count must be a whole number"},
      {"fault=throttle seed=-1", "seed must be"},
      {"fault=throttle age=1s", "fault throttle has no setting age"},
      {"fault=throttle cause=greed",
       "cause must be provisioned, key-range, on-demand-maximum or account"},
      {"fault=throttle operations=CreateTable",
       "fault throttle cannot strike CreateTable; it can strike GetItem"},
      {"fault=conflict operations=PutItem,GetItem", "fault conflict cannot strike GetItem"},
      {"fault=stale-read", "fault stale-read needs age"},
      {"fault=stale-read age=0", "age must be a duration"},
      {"fault=stale-read age=25h", "up to 24h"},
      {"fault=slow delay=11m", "up to 10m"},
      {"fault=index-delay delay=1s random=maybe", "random must be true or false"},
      {"fault=error when=during", "when must be before or after"},
      {"fault=unprocessed share=2", "share must be"},
      {"fault=conflict count=1 count=2", "count is given twice"},
  };
  for (const auto& [text, message] : cases) {
    const Result<FaultRule> rule = MakeFaultRule(Settings(text));
    ASSERT_FALSE(rule.ok()) << text;
    EXPECT_NE(rule.error().message().find(message), std::string::npos) << rule.error().message();
  }
  for (const char* table : {"", "ab", "a/b", "**"})
    EXPECT_FALSE(CheckFaultTable(table).ok()) << table;
  for (const char* table : {"abc", "a.b-C_9", "*"})
    EXPECT_TRUE(CheckFaultTable(table).ok()) << table;
}

TEST(FaultDial, ASeedRepeatsItself) {
  FaultDial dial;
  const FaultRule half = Rule("fault=throttle probability=0.5 seed=7");
  dial.Set("t", {half});
  const std::string first = Strikes(dial, Fault::kThrottle, "t", "GetItem", 64);
  EXPECT_GT(std::count(first.begin(), first.end(), 'x'), 16);
  EXPECT_LT(std::count(first.begin(), first.end(), 'x'), 48);
  dial.Set("t", {half, Rule("fault=error")});
  std::string again;
  for (int i = 0; i < 64; ++i) {
    EXPECT_TRUE(dial.Draw(Fault::kError, "t", "GetItem")) << "another rule is another sequence";
    again += Strikes(dial, Fault::kThrottle, "t", "GetItem", 1);
  }
  EXPECT_EQ(again, first);
  dial.Set("u", {half});
  EXPECT_NE(Strikes(dial, Fault::kThrottle, "u", "GetItem", 64), first) << "so is another table";
  dial.Set("t", {Rule("fault=throttle probability=0.5 seed=8")});
  EXPECT_NE(Strikes(dial, Fault::kThrottle, "t", "GetItem", 64), first);
}

TEST(FaultDial, CountsOperationsAndTables) {
  FaultDial dial;
  EXPECT_FALSE(dial.active());
  dial.Set("t", {Rule("fault=throttle count=2 operations=GetItem")});
  EXPECT_TRUE(dial.active());
  EXPECT_EQ(Strikes(dial, Fault::kThrottle, "t", "PutItem", 3), "...");
  EXPECT_EQ(Strikes(dial, Fault::kThrottle, "other", "GetItem", 3), "...");
  EXPECT_EQ(Strikes(dial, Fault::kError, "t", "GetItem", 3), "...");
  EXPECT_EQ(Strikes(dial, Fault::kThrottle, "t", "GetItem", 4), "xx..");
  EXPECT_FALSE(dial.active()) << "spent";
  EXPECT_EQ(dial.Get().at("t").at(0).struck, 2);

  dial.Set("*", {Rule("fault=throttle count=1")});
  dial.Set("t", {Rule("fault=throttle count=1")});
  EXPECT_EQ(Strikes(dial, Fault::kThrottle, "t", "GetItem", 3), "xx.")
      << "its own rule, then that of all tables";
  dial.SetAll({{"t", {Rule("fault=stale-read age=2s"), Rule("fault=index-delay delay=5s")}},
               {"*", {Rule("fault=stale-read age=1s")}}});
  EXPECT_EQ(dial.Ages(),
            (std::map<std::string, int64_t, std::less<>>{{"*", 1'000'000}, {"t", 5'000'000}}));
  dial.SetAll({});
  EXPECT_FALSE(dial.active());
  EXPECT_TRUE(dial.Get().empty());
}

TEST(FaultDial, RandomDurationsAreUpToTheGivenOne) {
  FaultDial dial;
  dial.Set("t", {Rule("fault=slow delay=1ms random=true")});
  int64_t least = 1000, most = 1;
  for (int i = 0; i < 1000; ++i) {
    const int64_t micros = dial.Draw(Fault::kSlow, "t", "Query")->Micros();
    least = std::min(least, micros);
    most = std::max(most, micros);
  }
  EXPECT_GE(least, 1);
  EXPECT_LT(least, 50);
  EXPECT_GT(most, 950);
  EXPECT_LE(most, 1000);
}

}  // namespace
}  // namespace stator::ops
