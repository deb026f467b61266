// libFuzzer: arbitrary bytes as a form of the Query protocol.
//
// Checked are: nothing crashes; an error is a validation error; a form holds what was decoded of
// it, and its lists end; and what it holds, encoded, is the same form.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "access/sigv4.h"
#include "iam/form.h"

namespace stator::iam {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Run(std::string_view text) {
  const Result<Form> form = Form::Parse(text);
  if (!form.ok()) {
    Require(form.error().code() == ErrorCode::kValidation);
    return;
  }
  Require(form->values().size() <= Form::kMaxParameters);
  Require(form->List("Tags").size() <= Form::kMaxParameters);
  Require(form->Tags().size() <= Form::kMaxParameters);
  std::string encoded;
  for (const auto& [name, value] : form->values()) {
    if (!encoded.empty()) encoded += '&';
    access::AppendUriEncoded(name, false, &encoded);
    encoded += '=';
    access::AppendUriEncoded(value, false, &encoded);
  }
  if (encoded.size() > Form::kMaxBytes) return;  // an encoded byte takes three
  const Result<Form> again = Form::Parse(encoded);
  Require(again.ok() && again->values() == form->values());
}

}  // namespace
}  // namespace stator::iam

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stator::iam::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
