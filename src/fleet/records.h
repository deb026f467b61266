// The records that the processes of a store share: tablet 2 of Space::kCatalog.
//
//   key := "process/" id             value := stamp 01 fields     a beat
//        | "lease/" name             value := stamp 01 fields
//        | "setting/" name           value := stamp 01 text       (shared_settings.h)
//   id := 16 hexadecimal digits, drawn by each process when it starts
//   fields := (name " " text "\n")*                               readers ignore unknown fields
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::fleet {

inline constexpr kv::Tablet kFleetTablet = {kv::Space::kCatalog, 2};
inline constexpr std::string_view kProcessPrefix = "process/";
inline constexpr std::string_view kLeasePrefix = "lease/";
inline constexpr std::string_view kSettingPrefix = "setting/";

// Settings that ask one process to drain; the process's id follows.
inline constexpr std::string_view kDrainSetting = "drain/";

std::string KeyOf(std::string_view prefix, std::string_view name);
// Returns the name of the setting that asks a process to drain. Its text says nothing.
std::string DrainSetting(std::string_view id);
// Returns the name behind the prefix; empty if the key has another prefix.
std::string_view NameIn(std::string_view prefix, std::string_view key);

// Returns a value with room for its stamp.
std::string EncodeRecord(std::string_view text);
// Returns the text of a value; kCorruption if its format is unknown.
Result<std::string_view> DecodeRecord(std::string_view value);

// A sign of life of one process.
struct Beat {
  uint64_t sequence = 0;       // rises by one with each beat
  std::string endpoint;        // host:port that the process serves, for operators
  std::string version;         // the program's version
  std::string clock;           // system or manual
  int64_t started_micros = 0;  // since the epoch, by the process's clock
  // When the beat was written, since the epoch, by the process's clock. For operators; liveness
  // never depends on it.
  int64_t at_micros = 0;
  std::string features = {};  // those that the program knows (kv::JoinFeatures)
  // The process's AgeClock when the beat was written; 0: the process says nothing of it.
  int64_t age_micros = 0;
  // Whether clients should go elsewhere, because the process will stop. Absent: a version that
  // cannot be asked to drain.
  std::optional<bool> draining = {};
  std::string datacenter = {};  // where the process runs, as its operator says; may be empty
  std::string rack = {};        // the same
  // Where other processes may connect to hand writes over: VERSION/HOST:PORT, with the version of
  // link/'s protocol; empty: nowhere.
  std::string link = {};
  // The ids of living processes to which it could hand writes over if it reached them, separated by
  // commas.
  std::string unreached = {};
  bool operator==(const Beat&) const = default;

  std::string Encode() const;
  static Result<Beat> Decode(std::string_view text);
};

// The owner of some background work. It lasts as long as its owner lives.
struct Lease {
  std::string owner;  // a process id
  uint64_t term = 0;  // rises by one with each owner
  bool operator==(const Lease&) const = default;

  std::string Encode() const;
  static Result<Lease> Decode(std::string_view text);
};

}  // namespace stator::fleet
