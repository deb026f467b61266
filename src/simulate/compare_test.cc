#include "simulate/compare.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "simulate/report.h"
#include "simulate/run.h"

namespace stator::simulate {
namespace {

class CompareTest : public testing::Test {
 protected:
  CompareTest() : dir_(std::filesystem::temp_directory_path() / ("compare-" + Name())) {
    std::filesystem::create_directories(dir_);
  }
  ~CompareTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, double rate) const {
    const std::string path = (dir_ / (name + ".toml")).string();
    std::ofstream(path)
        << "duration = \"20m\"\n[prices]\nwrite_unit_month = 1\n"
           "[[table]]\nname = \"t\"\nwrite = 4000\n"
           "[[traffic]]\ntable = \"t\"\noperation = \"write\"\nitem_bytes = \"1KB\"\n"
        << "rate = " << rate << "\nkeys = { type = \"weighted\", weights = { a = 60, b = 40 } }\n";
    return path;
  }
  static std::vector<Variant> Play(std::vector<Variant> variants) {
    for (Variant& v : variants) v.outcome = simulate::Run(v.scenario);
    return variants;
  }
  static std::string Refusal(const std::vector<std::string>& what) {
    const auto read = ReadVariants(what);
    return read.ok() ? "" : read.error().message();
  }

 private:
  static std::string Name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::filesystem::path dir_;
};

TEST_F(CompareTest, AKeyOfTheModelPlaysOneScenarioForEachValue) {
  auto read = ReadVariants({"adaptive=off,delayed,instant", Write("a", 1500)});
  ASSERT_TRUE(read.ok()) << read.error().message();
  const std::vector<Variant> variants = Play(*read);
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0].name, "adaptive=off");
  EXPECT_LT(variants[0].outcome.traffic[0].served, variants[1].outcome.traffic[0].served);
  EXPECT_LT(variants[1].outcome.traffic[0].served, variants[2].outcome.traffic[0].served);
  const std::string text = ComparisonText(variants);
  EXPECT_NE(text.find("adaptive=delayed"), std::string::npos) << text;
  EXPECT_NE(text.find("TableWriteKeyRangeThroughputExceeded: "), std::string::npos) << text;
  const std::string map = ComparisonMap(variants);
  EXPECT_NE(map.find("adaptive=off: table t ("), std::string::npos);
  EXPECT_NE(map.find("adaptive=instant: table t (0.0% throttled)"), std::string::npos);
  const std::string json = ComparisonJson(variants);
  EXPECT_EQ(std::count(json.begin(), json.end(), '{'), std::count(json.begin(), json.end(), '}'));
}

TEST_F(CompareTest, RulesOf2014AndOfToday) {
  auto read = ReadVariants({Write("a", 3000), "rules=2014,today"});
  ASSERT_TRUE(read.ok()) << read.error().message();
  const std::vector<Variant> variants = Play(*read);
  EXPECT_FALSE(variants[0].scenario.model.split_for_heat);
  EXPECT_EQ(variants[0].scenario.model.adaptive, throughput::Adaptive::kOff);
  EXPECT_EQ(variants[1].scenario.model.adaptive, throughput::Adaptive::kInstant);
  EXPECT_NE(ComparisonText(variants).find("today serves "), std::string::npos);
}

TEST_F(CompareTest, ScenariosOfDifferentRequestsAndLengthsKeepTheirOwn) {
  auto read = ReadVariants({Write("little", 10), Write("much", 9000)});
  ASSERT_TRUE(read.ok()) << read.error().message();
  (*read)[1].scenario.duration_seconds *= 4;
  const std::vector<Variant> variants = Play(*read);
  EXPECT_EQ(ComparisonText(variants).find(" serves "), std::string::npos);
  const std::string map = ComparisonMap(variants);
  for (const Variant& v : variants) {
    const std::string end = DurationText(v.scenario.duration_seconds);
    EXPECT_NE(map.find(">" + end + "</text>"), std::string::npos) << end;
  }
}

TEST_F(CompareTest, ScenariosAreNamedByTheirFiles) {
  auto read = ReadVariants({Write("little", 10), Write("much", 9000)});
  ASSERT_TRUE(read.ok()) << read.error().message();
  const std::vector<Variant> variants = Play(*read);
  EXPECT_EQ(variants[1].name, "much");
  EXPECT_EQ(variants[0].outcome.traffic[0].throttled_total(), 0);
  EXPECT_GT(variants[1].outcome.traffic[0].throttled_total(), 0);
}

TEST_F(CompareTest, WrongWordsAreRefused) {
  const std::string file = Write("a", 1);
  EXPECT_NE(Refusal({file}), "");
  EXPECT_NE(Refusal({"adaptive=off,instant"}), "");
  EXPECT_NE(Refusal({file, "adaptive=off,instant", "window=1,2"}), "");
  EXPECT_NE(Refusal({file, "rules=2014,1999"}).find("2014 or today"), std::string::npos);
  EXPECT_NE(Refusal({file, "adaptive=off,often"}).find("model.adaptive"), std::string::npos);
  EXPECT_NE(Refusal({file, "bogus=1,2"}).find("model.bogus"), std::string::npos);
  EXPECT_NE(Refusal({file, file + "-not-there"}), "");
  EXPECT_NE(Refusal({file + "," + file}).find("separated by blanks"), std::string::npos);
  EXPECT_NE(Refusal({file, "window=1,2,3,4,5,6,7,8,9,10,11,12,13"}), "");
}

}  // namespace
}  // namespace stator::simulate
