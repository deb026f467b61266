// Writes that other processes of the store run for this one
// (docs/adr/0024-one-writer-many-doors.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/unique_function.h"
#include "ops/context.h"

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

// Where a write should be run.
struct WriteOwner {
  std::string process = {};  // empty: this one
  size_t item = 0;           // its part decided; an index
};

// Decides which process runs a write, and sends it there. Thread-safe.
class Forwarding {
 public:
  virtual ~Forwarding() = default;
  // Returns the process that should run a write of all these items now. Never waits.
  virtual WriteOwner OwnerOf(std::span<const ops::WrittenItem> items) = 0;
  // Sends a request that writes these items, of which `owner` was returned. `operation` is an
  // X-Amz-Target, `body` the text of the request; all are copied. Returns false, and leaves `done`
  // untouched, if that process cannot be asked now.
  virtual bool Send(const WriteOwner& owner, std::span<const ops::WrittenItem> items,
                    std::string_view operation, std::string_view body, ForwardedDone& done) = 0;
};

}  // namespace stator::api
