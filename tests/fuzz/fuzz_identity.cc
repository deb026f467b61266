// libFuzzer: arbitrary bytes as records of access control.
//
// Checked are: nothing crashes; an error is one of the contract; and a record that was read is
// written to bytes that give the same record.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "access/identity.h"

namespace stator::access {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename T>
void Run(std::string_view bytes) {
  T record;
  if (const Status status = Decode(bytes, &record); !status.ok()) {
    Require(status.error().code() == ErrorCode::kCorruption ||
            status.error().code() == ErrorCode::kUnavailable);
    return;
  }
  T again;
  Require(Decode(Encode(record), &again).ok());
  Require(again == record);
}

}  // namespace
}  // namespace stator::access

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stator::access;  // NOLINT(google-build-using-namespace): one function
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Run<Account>(bytes);
  Run<User>(bytes);
  Run<Group>(bytes);
  Run<Role>(bytes);
  Run<AccessKey>(bytes);
  Run<ManagedPolicy>(bytes);
  Run<OidcProvider>(bytes);
  return 0;
}
