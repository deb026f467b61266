// How far the log was synced, beside the log: a start that finds less has lost writes that were
// acknowledged. Internal to the room.
//
//   file SYNCED := "STATSYNC" stamp:8 synced:8 check:8      little-endian
//   stamp       := of the last batch that was acknowledged
//   synced      := 1: acknowledged after fsync, 0: after write()
//   check       := FNV-1a of the bytes before it
//
// The mark is written behind the fsync of the log and not synced itself, so it can only lag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stator::kv_rocks {

class SyncedMark {
 public:
  struct Content {
    uint64_t stamp = 0;
    bool synced = false;
  };
  // Returns the mark of a store; nullopt if it has none, or none that can be read.
  static std::optional<Content> Read(const std::string& path);

  // Opens the mark of the store, and makes it if it is missing. One that cannot be opened is logged
  // and not kept.
  explicit SyncedMark(const std::string& path);
  ~SyncedMark();
  SyncedMark(const SyncedMark&) = delete;
  SyncedMark& operator=(const SyncedMark&) = delete;

  void Write(Content content);

 private:
  int fd_;
};

}  // namespace stator::kv_rocks
