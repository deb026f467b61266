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
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "kv/engine.h"
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
  // Lets the compaction that runs find out.
  void EndCompaction() { ends_ = true; }
  bool compacting() const { return compacting_; }
  bool flushing() const { return flushing_; }

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
    if (status.ok() && path.ends_with(".sst"))
      *file = std::make_unique<Table>(std::move(*file), this);
    return status;
  }

 private:
  class Table final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    Table(std::unique_ptr<rocksdb::FSWritableFile> file, NarrowDisk* disk)
        : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk) {}
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    IODebugContext* debug) override {
      if (!disk_->MayWrite()) return IOStatus::NoSpace();
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
      return Append(data, options, debug);
    }

   private:
    NarrowDisk* const disk_;
  };

  static void Await(const std::atomic<bool>& state) {
    for (int i = 0; i < 10'000 && !state; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  bool MayWrite() {
    if (InCompaction()) {
      compacting_ = true;
      Await(ends_);
      return false;
    }
    if (!full_ || flushing_.exchange(true)) return true;
    Await(fails_);
    return false;
  }

  std::atomic<bool> full_ = false;
  std::atomic<bool> fails_ = false;
  std::atomic<bool> ends_ = false;
  std::atomic<bool> compacting_ = false;
  std::atomic<bool> flushing_ = false;
};

class NarrowEnv final : public rocksdb::EnvWrapper {
 public:
  explicit NarrowEnv(const std::shared_ptr<NarrowDisk>& disk)
      : EnvWrapper(rocksdb::NewCompositeEnv(disk)) {}
  const char* Name() const override { return "NarrowEnv"; }
};

TEST(Recovery, ACompactionWithoutRoomHoldsNoWrite) {
  const TemporaryDirectory directory;
  const auto narrow = std::make_shared<NarrowDisk>();
  NarrowDisk& disk = *narrow;
  NarrowEnv env(narrow);
  auto opened = OpenRocks(
      {.path = directory.store(), .memory_budget_bytes = 8 << 20, .sync = false, .env = &env});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  kv::Engine& engine = **opened;
  int written = 0;
  const auto put = [&] {
    kv::Batch batch;
    const std::string key = std::to_string(written++ * 7919 % 10007);
    batch.puts.push_back({kTablet, key, std::string(kv::kStampBytes + 50'000, 'v')});
    auto done = std::make_shared<std::promise<bool>>();
    engine.Apply(std::move(batch), [done](Result<uint64_t> stamp) { done->set_value(stamp.ok()); });
    std::future<bool> future = done->get_future();
    if (future.wait_for(std::chrono::seconds(60)) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "a write is held";
    std::abort();  // so is the end of the store
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  const auto in_time = [&] { return std::chrono::steady_clock::now() < end; };
  while (!disk.compacting() && in_time()) ASSERT_TRUE(put());
  disk.Fill();
  while (!disk.flushing() && in_time()) put();
  ASSERT_TRUE(disk.flushing());
  // Nothing is written while it fails: a write to the log that the failure meets ends all writes.
  disk.FailFlush();
  while (engine.Health().ok() && in_time())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // Refused while the compaction runs, then taken again.
  EXPECT_FALSE(put());
  disk.EndCompaction();
  int taken = 0;
  while (taken < 5 && in_time()) {
    taken += put() ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(taken, 5);
}

}  // namespace
}  // namespace stator::kv_rocks
