package dev.stator.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A parameter that gets a value of the test's account: a String, or a {@link java.net.URI} for the endpoint. */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.PARAMETER)
public @interface FromStator {
  /** What a client of an AWS SDK needs. */
  enum Value {
    /** The URL of the server, such as {@code http://127.0.0.1:41767}. */
    ENDPOINT,
    /** The access key id, which names the account. */
    ACCESS_KEY,
    /** The secret access key, which is not verified. */
    SECRET_KEY,
    /** The region of the server. */
    REGION
  }

  /**
   * Which value.
   *
   * @return the value that the parameter gets
   */
  Value value();
}
