// Writes that other processes of the store run for this one
// (docs/adr/0024-one-writer-many-doors.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_function.h"

namespace stator::table {
struct Table;
}  // namespace stator::table

namespace stator::api {

// The outcome of a write at another process.
struct ForwardedAnswer {
  enum class Kind : uint8_t {
    kAnswered,  // the rest is the answer to the client
    kRefused,   // nothing was applied and nothing will be: to be run by the process that asked
    kUnknown,   // it may or may not be applied
  };
  Kind kind = Kind::kUnknown;
  int status = 200;
  std::string error = {};  // the exception's name; empty on success
  std::string body = {};
  int64_t items = 0;  // in the answer
};
// Called exactly once, on any thread, with no lock held.
using ForwardedDone = UniqueFunction<void(ForwardedAnswer)>;

// Decides which process runs a write, and sends it there. Thread-safe.
class Forwarding {
 public:
  virtual ~Forwarding() = default;
  // Returns the process that should run a write of this item now; empty: this one. Never waits.
  virtual std::string OwnerOf(const table::Table& table, std::string_view key) = 0;
  // Sends the request. `operation` is an X-Amz-Target, `body` the text of the request; both are
  // copied. Returns false, and leaves `done` untouched, if that process cannot be asked now.
  virtual bool Send(const std::string& owner, const table::Table& table, std::string_view key,
                    std::string_view operation, std::string_view body, ForwardedDone& done) = 0;
};

}  // namespace stator::api
