// A disk on which a flush fails while a compaction runs, and which then has room for flushes but
// for no compaction.
#include "kv_rocks/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "kv/engine.h"
#include "kv/reclaim.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"

namespace stator::kv_rocks {
namespace {

constexpr kv::Tablet kTablet{kv::Space::kItems, 1};

bool InCompaction() {
  char name[16] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return std::string_view(name) == "rocksdb:low";
}

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class NarrowDisk final : public rocksdb::FileSystemWrapper {
 public:
  NarrowDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "NarrowDisk"; }

  // From now on no compaction has room, and flushes have but for the first, which waits for
  // FailFlush.
  void Fill() { full_ = true; }
  void FailFlush() { fails_ = true; }
  // From now on the log has no room.
  void FailLog() { log_fails_ = true; }
  // Lets the compaction that runs find out.
  void EndCompaction() { ends_ = true; }
  // There is room for everything again.
  void Widen() { wide_ = true; }
  // Times that compactions have written something.
  int compaction_writes() const { return compaction_writes_; }
  bool compacting() const { return compacting_; }
  bool flushing() const { return flushing_; }
  // Logs begun, one for each memtable, and memtables flushed.
  int logs() const { return logs_; }
  int flushes() const { return flushes_; }

  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* free,
                        IODebugContext* debug) override {
    if (!full_) return FileSystemWrapper::GetFreeSpace(path, options, free, debug);
    *free = 1 << 20;
    return IOStatus::OK();
  }
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    if (status.ok() && (path.ends_with(".sst") || path.ends_with(".log"))) {
      *file = std::make_unique<File>(std::move(*file), this, path.ends_with(".log"));
      if (path.ends_with(".log")) ++logs_;
    }
    return status;
  }

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file, NarrowDisk* disk, bool log)
        : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), log_(log) {}
    ~File() override {
      if (!log_ && !InCompaction()) ++disk_->flushes_;
    }
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    IODebugContext* debug) override {
      if (log_ ? disk_->log_fails_.load() : !disk_->MayWrite()) return IOStatus::NoSpace();
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
      return Append(data, options, debug);
    }

   private:
    NarrowDisk* const disk_;
    const bool log_;
  };

  static void Await(const std::atomic<bool>& state) {
    for (int i = 0; i < 10'000 && !state; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  bool MayWrite() {
    if (InCompaction()) {
      ++compaction_writes_;
      if (wide_) return true;
      compacting_ = true;
      Await(ends_);
      return false;
    }
    if (wide_ || !full_ || flushing_.exchange(true)) return true;
    Await(fails_);
    return false;
  }

  std::atomic<bool> full_ = false;
  std::atomic<bool> fails_ = false;
  std::atomic<bool> ends_ = false;
  std::atomic<bool> log_fails_ = false;
  std::atomic<bool> wide_ = false;
  std::atomic<int> compaction_writes_ = 0;
  std::atomic<int> logs_ = 0;
  std::atomic<int> flushes_ = 0;
  std::atomic<bool> compacting_ = false;
  std::atomic<bool> flushing_ = false;
};

class NarrowEnv final : public rocksdb::EnvWrapper {
 public:
  explicit NarrowEnv(const std::shared_ptr<NarrowDisk>& disk)
      : EnvWrapper(rocksdb::NewCompositeEnv(disk)) {}
  const char* Name() const override { return "NarrowEnv"; }
};

class Recovery : public testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    engine_.reset();
    auto opened = OpenRocks({.path = directory_.store(),
                             .memory_budget_bytes = 8 << 20,
                             .sync = false,
                             .free_bytes = [this](const std::string&) { return free_.load(); },
                             .env = &env_});
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    engine_ = std::move(*opened);
  }
  static kv::Batch Put(std::string key, size_t bytes = 50'000) {
    kv::Batch batch;
    batch.puts.push_back({kTablet, std::move(key), std::string(kv::kStampBytes + bytes, 'v')});
    return batch;
  }
  Result<uint64_t> Write(kv::Batch batch) {
    auto done = std::make_shared<std::promise<Result<uint64_t>>>();
    engine_->Apply(std::move(batch),
                   [done](Result<uint64_t> stamp) { done->set_value(std::move(stamp)); });
    auto future = done->get_future();
    if (future.wait_for(std::chrono::seconds(60)) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "a write is held";
    std::abort();  // so is the end of the store
  }
  bool WriteNext() { return Write(Put(std::to_string(written_++ * 7919 % 10007))).ok(); }
  // Writes until `reached`. It fills no memtable before the one before is flushed: a write that
  // waits for a flush that the disk holds would wait for good.
  template <typename Condition>
  void WriteUntil(Condition reached) {
    while (!reached() && InTime()) {
      const int logs = disk_.logs();
      const int flushes = disk_.flushes();
      ASSERT_TRUE(WriteNext());
      if (disk_.logs() == logs) continue;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (!reached() && disk_.flushes() == flushes && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(reached());
  }
  bool Has(const std::string& key) {
    std::string value;
    const Result<bool> found = engine_->Get(kTablet, key, kv::Tier::kAny, &value);
    EXPECT_TRUE(found.ok());
    return found.ok() && *found;
  }
  template <typename Condition>
  void AwaitTrue(Condition condition) {
    while (!condition() && InTime()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(condition());
  }
  bool InTime() const { return std::chrono::steady_clock::now() < end_; }
  // How often RocksDB has said so of `what`, each time when the error was in force.
  int Errors(const std::string& what) const {
    std::ifstream log(directory_.store() + "/LOG");
    const std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
    const std::string line = "Waiting after background " + what + " error";
    int errors = 0;
    for (size_t at = 0; (at = text.find(line, at)) != std::string::npos; ++at) ++errors;
    return errors;
  }
  // Writes until a compaction has failed for want of space, and some more have been refused. The
  // disk has a little more free than the reserve of writes.
  void WriteUntilACompactionFails() {
    free_ = 65 << 20;
    disk_.EndCompaction();
    // It says first that a compaction has failed.
    const auto needs_space = [this] {
      const Status health = engine_->Health();
      return !health.ok() &&
             health.error().message().find("a compaction needs") != std::string::npos;
    };
    while (!needs_space() && InTime()) WriteNext();
    ASSERT_TRUE(needs_space()) << engine_->Health().error().message();
  }
  // Queues the batches while the committer is busy, so that they are one group.
  void ApplyTogether(kv::Batch first, kv::ApplyDone first_done, kv::Batch second,
                     kv::ApplyDone second_done) {
    std::promise<void> held, queued;
    engine_->Apply(Put("held", 1), [&held, go_on = queued.get_future()](Result<uint64_t>) {
      held.set_value();
      go_on.wait();
    });
    held.get_future().wait();
    engine_->Apply(std::move(first), std::move(first_done));
    engine_->Apply(std::move(second), std::move(second_done));
    queued.set_value();
  }

  const TemporaryDirectory directory_;
  const std::shared_ptr<NarrowDisk> narrow_ = std::make_shared<NarrowDisk>();
  NarrowDisk& disk_ = *narrow_;
  NarrowEnv env_{narrow_};
  std::atomic<uint64_t> free_ = uint64_t{1} << 40;
  std::unique_ptr<kv::Engine> engine_;
  int written_ = 0;
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(120);
};

TEST_F(Recovery, ACompactionWithoutRoomHoldsNoWrite) {
  WriteUntil([this] { return disk_.compacting(); });
  disk_.Fill();
  WriteUntil([this] { return disk_.flushing(); });
  disk_.FailFlush();
  AwaitTrue([this] { return !engine_->Health().ok(); });
  // Refused while the compaction runs, then taken again.
  EXPECT_FALSE(WriteNext());
  disk_.EndCompaction();
  int taken = 0;
  while (taken < 5 && InTime()) {
    taken += WriteNext() ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(taken, 5);
}

TEST_F(Recovery, ACompactionThatDoesNotFitHoldsWritesUntilThereIsSpace) {
  WriteUntilACompactionFails();
  const int writes = disk_.compaction_writes();
  const int errors = Errors("compaction");
  // RocksDB begins it again and again; it does not get so far as to write, and no write is taken.
  // Deletes are, but while one of its failures holds them back.
  int deleted = 0;
  while ((Errors("compaction") < errors + 3 || deleted == 0) && InTime()) {
    const Result<uint64_t> refused = Write(Put("refused"));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
    kv::Batch deletes;
    deletes.deletes.push_back({kTablet, "0"});
    deleted += Write(std::move(deletes)).ok() ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(disk_.compaction_writes(), writes);
  EXPECT_FALSE(Has("0"));

  disk_.Widen();
  free_ = 1 << 30;
  AwaitTrue([this] { return engine_->Health().ok(); });
  EXPECT_TRUE(WriteNext());
  AwaitTrue([&] { return disk_.compaction_writes() > writes; });
}

// There is no more space than before, but nothing to compact either.
TEST_F(Recovery, ADroppedTableEndsTheWaitForSpace) {
  WriteUntilACompactionFails();
  disk_.Widen();
  std::atomic<bool> stop = false;
  AwaitTrue([&] { return engine_->reclaimer()->Reclaim(kTablet, &stop).ok(); });
  AwaitTrue([this] { return engine_->Health().ok(); });
  EXPECT_TRUE(WriteNext());
}

// The flush fails when the committer has found the store writable, before it writes.
TEST_F(Recovery, AWriteThatMeetsTheErrorOfAFlushIsRefusedAndNoMore) {
  const auto add = [](kv::Batch batch) {
    batch.adds.push_back({kTablet, "counter", 1});
    return batch;
  };
  const Result<uint64_t> before = Write(add(Put("before")));
  ASSERT_TRUE(before.ok());
  disk_.Fill();
  WriteUntil([this] { return disk_.flushing(); });
  kv::Batch guarded = Put("guarded");
  guarded.guards.push_back({kTablet, "before", 1 + *before});
  const auto fate = std::make_shared<kv::BatchFate>();
  kv::Batch met = add(Put("met"));
  met.fate = fate;
  std::promise<Result<uint64_t>> answer;
  const auto fail = [&](Result<uint64_t>) {
    disk_.FailFlush();
    AwaitTrue([this] { return Errors("flush") > 0; });
  };
  const auto take = [&](Result<uint64_t> stamp) {
    fate->failed = !stamp.ok();
    answer.set_value(std::move(stamp));
  };
  ApplyTogether(std::move(guarded), fail, std::move(met), take);
  const Result<uint64_t> refused = answer.get_future().get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable) << refused.error().message();
  EXPECT_FALSE(Has("met"));
  disk_.EndCompaction();
  AwaitTrue([this] { return engine_->Health().ok(); });

  kv::Batch builds_on = Put("builds on");
  builds_on.after.push_back(fate);
  EXPECT_EQ(Write(std::move(builds_on)).error().code(), ErrorCode::kUnavailable);
  Result<uint64_t> later = Write(add(Put("later")));
  while (!later.ok() && InTime()) later = Write(add(Put("later")));
  ASSERT_TRUE(later.ok()) << later.error().message();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Has("before") && Has("held") && Has("later"));
    EXPECT_FALSE(Has("met") || Has("guarded") || Has("builds on"));
    std::string value;
    ASSERT_TRUE(*engine_->Get(kTablet, "counter", kv::Tier::kAny, &value));
    EXPECT_EQ(kv::CounterOf(value).value(), 2);
    Open();
  }
  const Result<uint64_t> last = Write(Put("last"));
  ASSERT_TRUE(last.ok());
  EXPECT_GT(*last, *later);
}

TEST_F(Recovery, AWriteThatTheLogHasNoRoomForEndsAllWrites) {
  ASSERT_TRUE(Write(Put("before")).ok());
  disk_.FailLog();
  EXPECT_EQ(Write(Put("met")).error().code(), ErrorCode::kOutcomeUnknown);
  const Result<uint64_t> later = Write(Put("later"));
  EXPECT_THAT(later.error().message(), testing::HasSubstr("restart the server"));
  EXPECT_FALSE(engine_->Health().ok());
  EXPECT_TRUE(Has("before"));
}

}  // namespace
}  // namespace stator::kv_rocks
