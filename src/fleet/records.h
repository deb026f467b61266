// What the processes of a store tell each other through it: tablet 2 of Space::kCatalog.
//
//   key := "process/" id             value := stamp 01 fields     a beat
//        | "lease/" name             value := stamp 01 fields
//        | "setting/" name           value := stamp 01 text       (shared_settings.h)
//   id := 16 hexadecimal digits, drawn by each process when it starts
//   fields := (name " " text "\n")*                               those that are unknown are passed
//   over
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::fleet {

inline constexpr kv::Tablet kFleetTablet = {kv::Space::kCatalog, 2};
inline constexpr std::string_view kProcessPrefix = "process/";
inline constexpr std::string_view kLeasePrefix = "lease/";
inline constexpr std::string_view kSettingPrefix = "setting/";

std::string KeyOf(std::string_view prefix, std::string_view name);
// The name behind the prefix; empty if the key has another one.
std::string_view NameIn(std::string_view prefix, std::string_view key);

// A value with room for its stamp.
std::string EncodeRecord(std::string_view text);
// kCorruption.
Result<std::string_view> DecodeRecord(std::string_view value);

// A sign of life.
struct Beat {
  uint64_t sequence = 0;       // one more with each
  std::string endpoint;        // host:port that the process serves, for people
  std::string version;         // of its program
  std::string clock;           // system or manual
  int64_t started_micros = 0;  // since the epoch, by its machine's clock
  int64_t at_micros =
      0;  // when the beat was written, by its machine's clock: for people, nothing is judged by it
  bool operator==(const Beat&) const = default;

  std::string Encode() const;
  static Result<Beat> Decode(std::string_view text);
};

// Who does some work. It lasts as long as its owner lives.
struct Lease {
  std::string owner;  // the id of a process
  uint64_t term = 0;  // one more with each owner
  bool operator==(const Lease&) const = default;

  std::string Encode() const;
  static Result<Lease> Decode(std::string_view text);
};

}  // namespace stator::fleet
