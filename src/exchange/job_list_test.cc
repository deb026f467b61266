#include "exchange/job_list.h"

#include <gtest/gtest.h>

#include <future>

#include "kv/memory_engine.h"
#include "table/table_name.h"

namespace stator::exchange {
namespace {

class JobListTest : public testing::Test {
 protected:
  using Jobs = JobList<ImportJob>;

  static ImportJob Of(size_t header_bytes) {
    ImportJob job;
    job.table_name = "tab";
    job.csv.emplace().headers = {std::string(header_bytes, 'h')};
    return job;
  }
  // Adds a job and lets it fail.
  static void Fail(Jobs& jobs, size_t header_bytes) {
    const auto reserved = jobs.Reserve(Of(header_bytes));
    ASSERT_TRUE(reserved.ok());
    std::promise<Status> added;
    jobs.Add(reserved->first, [&added](Status status) { added.set_value(std::move(status)); });
    ASSERT_TRUE(added.get_future().get().ok());
    ImportJob ended = *reserved->first;
    ended.state = JobState::kFailed;
    ended.end_micros = ended.start_micros;
    ASSERT_TRUE(jobs.Change(ended).ok());
  }

  kv::MemoryEngine engine_;
  ManualClock clock_;
  SeededRandom random_{1};
};

TEST_F(JobListTest, LongParametersAreRefused) {
  Jobs jobs(engine_, clock_, random_);
  const auto refused = jobs.Reserve(Of(kMostJobBytes));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kValidation);
  EXPECT_EQ(jobs.in_progress(), 0u);
  EXPECT_TRUE(jobs.Reserve(Of(kMostJobBytes / 2)).ok());
}

TEST_F(JobListTest, TheOldestThatHaveEndedMakeRoom) {
  constexpr size_t kBytes = 900'000, kJobs = 60;
  {
    Jobs jobs(engine_, clock_, random_);
    const auto first = jobs.Reserve(Of(kBytes));
    ASSERT_TRUE(first.ok());
    for (size_t i = 0; i < kJobs; ++i) {
      clock_.AdvanceMicros(1'000'000);
      Fail(jobs, kBytes);
    }
    const auto list = jobs.List();
    EXPECT_LE(list.size() * kBytes, kMostKeptBytes + 2 * kBytes);
    EXPECT_GE((list.size() + 2) * kBytes, kMostKeptBytes);
    EXPECT_EQ(list.back(), first->first) << "what is in progress stays";
    EXPECT_EQ(list.front()->start_micros, clock_.NowMicros() / 1000 * 1000);
    jobs.GiveUp(first->first);
  }
  Jobs again(engine_, clock_, random_);
  ASSERT_TRUE(again.Read().ok());
  EXPECT_LE(again.List().size() * kBytes, kMostKeptBytes + 2 * kBytes);
  Fail(again, kBytes);
  EXPECT_LE(again.List().size() * kBytes, kMostKeptBytes + 2 * kBytes);
}

TEST_F(JobListTest, PagesAreWhatAWalkThroughAllJobsFinds) {
  Jobs jobs(engine_, clock_, random_);
  const std::vector<std::string> tables = {"aaa", "aab", "bbb", "123456789012/aaa"};
  for (int i = 0; i < 40; ++i) {
    clock_.AdvanceMicros(1'000'000);
    ImportJob job = Of(10);
    job.table_name = tables[random_.Below(tables.size())];
    job.client_token = "token" + std::to_string(i % 5);
    job.parameters = std::to_string(i);
    const auto reserved = jobs.Reserve(std::move(job));
    ASSERT_TRUE(reserved.ok());
    if (i % 7 == 0) jobs.GiveUp(reserved->first);
  }
  const auto all = jobs.List();
  ASSERT_EQ(all.size(), 34u);
  for (int round = 0; round < 500; ++round) {
    const std::string name = tables[random_.Below(tables.size())];
    const std::string account(table::AccountIn(name));
    const std::string table = random_.Below(2) == 0 ? name : "";
    const std::string before = random_.Below(3) == 0 ? "" : all[random_.Below(all.size())]->id;
    const size_t most = 1 + random_.Below(8);
    std::vector<Jobs::JobPtr> expected;
    for (const Jobs::JobPtr& job : all) {
      const bool wanted = table::AccountIn(job->table_name) == account &&
                          (table.empty() || job->table_name == table) &&
                          (before.empty() || job->id < before);
      if (wanted && expected.size() < most) expected.push_back(job);
    }
    EXPECT_EQ(jobs.Page(account, table, before, most), expected);
  }
  EXPECT_TRUE(jobs.Page("", "123456789012/aaa", "", 10).empty()) << "a table of another account";
  EXPECT_TRUE(jobs.Page("210987654321", "", "", 10).empty());

  // The newest job of a token, and of an account.
  for (int i = 0; i < 5; ++i) {
    const std::string token = "token" + std::to_string(i);
    Jobs::JobPtr newest;
    for (const Jobs::JobPtr& job : all) {
      if (newest == nullptr && job->client_token == token &&
          table::AccountIn(job->table_name).empty())
        newest = job;
    }
    EXPECT_EQ(jobs.FindToken(token), newest);
  }
  EXPECT_EQ(jobs.FindToken("token9"), nullptr);
}

}  // namespace
}  // namespace stator::exchange
