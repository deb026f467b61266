#include "server/seed_data.h"

#include "server/test_management.h"

namespace stator::server {
namespace {

TEST_F(ManagementTest, SeedDataLeavesWhatIsThereAlone) {
  WriteMusic();
  const Result<Seeded> first = LoadSeedData(environment_, directory_);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->tables, 1);
  EXPECT_EQ(first->items, 600);
  WriteFile("Music.items.jsonl", R"({"Item":{"pk":{"S":"new"}}})");
  const Result<Seeded> second = LoadSeedData(environment_, directory_);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->tables, 0);
  EXPECT_EQ(ItemsOf("Music"), 600);
}

TEST_F(ManagementTest, SeedFilesWithoutATableAreAnError) {
  WriteMusic();
  WriteFile("Musik.items.jsonl", "{}\n");
  const Result<Seeded> lost = LoadSeedData(environment_, directory_);
  ASSERT_FALSE(lost.ok());
  EXPECT_NE(
      lost.error().message().find("Musik.items.jsonl: there is no Musik.table.json beside it"),
      std::string::npos)
      << lost.error().message();
  std::filesystem::create_symlink("nowhere", directory_ / "Musik.table.json");
  std::filesystem::remove(directory_ / "Musik.items.jsonl");
  const Result<Seeded> unreadable = LoadSeedData(environment_, directory_);
  ASSERT_FALSE(unreadable.ok());
  EXPECT_NE(unreadable.error().message().find("Musik.table.json: this cannot be read"),
            std::string::npos)
      << unreadable.error().message();
}

TEST_F(ManagementTest, SeedDataErrorsNameFileAndLine) {
  const auto message = [this] {
    const Result<Seeded> result = LoadSeedData(environment_, directory_);
    return result.ok() ? std::string() : result.error().message();
  };
  const auto drop = [this] {
    EXPECT_EQ(Send(*Make(), "POST", "/_stator/reset", kGood).status, 200);
  };
  for (const char* line : {"{\"Item\":", "{}", "[]", R"({"Item":{"pk":{"S":"a"},"s":{"SS":[]}}})",
                           R"({"Item":{"pk":{"N":"1"}}})", R"({"Item":{"other":{"S":"1"}}})",
                           R"({"Item":{"pk":{"S":""}}})", R"({"Item":7})"}) {
    WriteMusic();
    WriteFile("Music.items.jsonl",
              std::string(R"({"Item":{"pk":{"S":"good"}}})") + "\n" + line + "\n");
    EXPECT_NE(message().find("Music.items.jsonl:2: "), std::string::npos) << line;
    drop();
  }
  WriteFile("Music.table.json", "{not json");
  EXPECT_NE(message().find("Music.table.json"), std::string::npos);
  WriteFile("Music.table.json", R"({"TableName":"Music"})");
  EXPECT_NE(message().find("Music.table.json"), std::string::npos);
  std::filesystem::remove_all(directory_);
  EXPECT_NE(message(), "");
}

}  // namespace
}  // namespace stator::server
