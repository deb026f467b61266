// Result<T> is a T or an Error; Status is a Result without a value. Both are [[nodiscard]].
#pragma once

#include <cassert>
#include <utility>

#include "base/error.h"
#include "tl/expected.hpp"

namespace stator {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : value_(tl::unexpected(std::move(error))) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // Only when ok().
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Only when !ok().
  const Error& error() const& {
    assert(!ok());
    return value_.error();
  }
  Error&& error() && {
    assert(!ok());
    return std::move(value_.error());
  }

 private:
  tl::expected<T, Error> value_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error)
      : value_(tl::unexpected(std::move(error))) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    assert(!ok());
    return value_.error();
  }
  Error&& error() && {
    assert(!ok());
    return std::move(value_.error());
  }

 private:
  tl::expected<void, Error> value_;
};

using Status = Result<void>;
inline Status OkStatus() { return Status(); }

}  // namespace stator

#define STATOR_CONCAT_INNER(a, b) a##b
#define STATOR_CONCAT(a, b) STATOR_CONCAT_INNER(a, b)

// TRY(expr): returns from the enclosing function with the error of a Status or Result, if it is
// one.
#define TRY(expr)                                                 \
  do {                                                            \
    auto try_status_ = (expr);                                    \
    if (!try_status_.ok()) return std::move(try_status_).error(); \
  } while (false)

// ASSIGN_OR_RETURN(auto x, expr): declares or assigns the value, or returns with the error.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_INNER(STATOR_CONCAT(try_result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_INNER(tmp, lhs, expr)  \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp).error(); \
  lhs = std::move(tmp).value()
