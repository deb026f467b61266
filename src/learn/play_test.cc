#include "learn/play.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace stator::learn {
namespace {

std::filesystem::path LessonsDir() {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "examples/lessons")) return at / "examples/lessons";
    if (at == at.parent_path())
      return std::filesystem::path(__FILE__).parent_path() / "../../examples/lessons";
  }
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(LessonsTest, FiguresHoldAndPicturesAreTheirs) {
  for (const std::string_view name : LessonNames()) {
    SCOPED_TRACE(name);
    const Result<Lesson> lesson = ReadLesson(name);
    ASSERT_TRUE(lesson.ok()) << lesson.error().message();
    EXPECT_EQ(lesson->says.size(), 5u);
    EXPECT_FALSE(lesson->amazon.empty());
    for (const auto& [scenario, text] : lesson->scenarios) {
      EXPECT_TRUE(std::any_of(lesson->expectations.begin(), lesson->expectations.end(),
                              [&](const Expectation& e) { return e.scenario == scenario; }))
          << scenario << " has no figures";
    }
    const auto variants = Play(*lesson);
    ASSERT_TRUE(variants.ok()) << variants.error().message();
    EXPECT_EQ(Broken(*lesson, *variants), std::vector<std::string>());
    EXPECT_EQ(simulate::ComparisonMap(*variants), ReadText(LessonsDir() / name / "picture.svg"))
        << "stator learn " << name << " --out draws it";
    EXPECT_TRUE(std::filesystem::exists(LessonsDir() / name / "live.mjs"));
  }
}

TEST(LessonsTest, TheFolderHasNoLessonThatIsNotListed) {
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LessonsDir()))
    folders += std::filesystem::exists(entry.path() / "lesson.toml") ? 1 : 0;
  EXPECT_EQ(folders, LessonNames().size());
}

TEST(LessonsTest, AFigureThatDoesNotHoldIsNamed) {
  Result<Lesson> lesson = ReadLesson("initial-partitions");
  ASSERT_TRUE(lesson.ok());
  const auto variants = Play(*lesson);
  ASSERT_TRUE(variants.ok());
  lesson->expectations[0].partitions = 7;
  const std::vector<std::string> broken = Broken(*lesson, *variants);
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0], "one: partitions is 1");
}

TEST(LessonsTest, FiguresOfOneStreamAndOfTheEndAreChecked) {
  Result<Lesson> lesson = ReadLesson("two-applications");
  ASSERT_TRUE(lesson.ok()) << lesson.error().message();
  const auto variants = Play(*lesson);
  ASSERT_TRUE(variants.ok()) << variants.error().message();
  Expectation e;
  e.scenario = "two-indexes";
  e.traffic = "shop";
  e.throttled = 0;
  lesson->expectations = {e};
  EXPECT_EQ(Broken(*lesson, *variants), std::vector<std::string>());
  e.traffic = "report";
  lesson->expectations = {e};
  EXPECT_EQ(Broken(*lesson, *variants).size(), 1u) << "the report is throttled";
  e.traffic = "nothing";
  lesson->expectations = {e};
  EXPECT_EQ(Broken(*lesson, *variants),
            std::vector<std::string>({"two-indexes: there is no traffic nothing"}));
  e = {};
  e.scenario = "two-indexes";
  e.partitions_after = 77;
  e.write_units = 1;
  lesson->expectations = {e};
  EXPECT_EQ(Broken(*lesson, *variants).size(), 2u);
}

TEST(LessonsTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const Result<Lesson> lesson = ReadLesson("bogus");
  ASSERT_FALSE(lesson.ok());
  EXPECT_NE(lesson.error().message().find("hot-date"), std::string::npos);
}

}  // namespace
}  // namespace stator::learn
