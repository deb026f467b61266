// Writes what requests did to a file, for `stator advise`: `--record`. Requests hand over what they
// know and go on; a thread of the recorder's own hides keys, encodes and writes. What the disk is
// too slow for is dropped and counted. When the disk fails or the file is full the recording ends,
// with a line in the log, and requests are served as before. The format: docs/advise.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/request_tap.h"
#include "base/clock.h"
#include "request_log/keyed_hash.h"
#include "request_log/record.h"
#include "table/store.h"

namespace stator::server {

struct RecorderOptions {
  std::string path;
  request_log::KeyForm keys = request_log::KeyForm::kPlain;
  int64_t most_bytes = int64_t{1} << 30;  // of the file
  // kHashed: for a file that has no secret yet. It is kept beside the file, as FILE.secret, so that
  // equal keys stay equal when a server begins again.
  request_log::HashSecret new_secret = {};
  size_t most_queued_bytes = 16u << 20;  // of requests that wait to be written
};

class Recorder final : public api::RequestTap {
 public:
  // Makes the file or goes on with it. Refused, with a sentence: what is no recording, one of
  // another version, what is no regular file, a full file, and one that another process writes to.
  // Store and clock outlive the recorder.
  static Result<std::unique_ptr<Recorder>> Open(RecorderOptions options, table::Store& store,
                                                const Clock& clock);
  ~Recorder() override;

  bool on() const override { return on_.load(std::memory_order_relaxed); }
  void Take(std::vector<request_log::Request> requests) override;

  // Writes what is queued and how large the tables are now, and ends the recording. While the store
  // can still be read.
  void Stop();

  int64_t written() const { return written_.load(std::memory_order_relaxed); }  // requests
  int64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  struct File;
  Recorder(RecorderOptions options, std::unique_ptr<File> file, table::Store& store,
           const Clock& clock);

  void Run();
  // On the recorder's thread, like all below.
  void WriteBatch(std::vector<request_log::Request> batch, int64_t lost);
  void DefineTable(const table::TablePtr& table, bool again, std::string* out);
  void DefineAll(bool again);
  // False if the recording has ended.
  // `request_ends`: where in it lines of requests end, in rising order.
  bool Append(std::string_view lines, const std::vector<size_t>& request_ends = {});
  void End(std::string_view event, const std::string& error);

  const RecorderOptions options_;
  const std::unique_ptr<File> file_;
  table::Store& store_;
  const Clock& clock_;
  request_log::HashSecret secret_ = {};

  std::atomic<bool> on_{true};
  std::atomic<int64_t> written_{0};
  std::atomic<int64_t> lost_{0};

  std::mutex mutex_;
  std::condition_variable wake_;
  // Under mutex_.
  std::vector<request_log::Request> queue_;
  size_t queued_bytes_ = 0;
  int64_t dropped_ = 0;  // since the last batch
  bool stopping_ = false;

  // What was last said of each table.
  struct Defined {
    table::TablePtr table;
    std::string line;  // without sizes and time
  };
  std::map<std::string, Defined> defined_;
  bool told_of_loss_ = false;

  std::thread thread_;
};

}  // namespace stator::server
