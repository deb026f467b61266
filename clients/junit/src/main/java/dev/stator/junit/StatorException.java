package dev.stator.junit;

/** The server does not start, has ended, or refuses a management call; or a test asks for what cannot be. */
public final class StatorException extends RuntimeException {
  private static final long serialVersionUID = 1;

  StatorException(String message) {
    super(message);
  }

  StatorException(String message, Throwable cause) {
    super(message, cause);
  }
}
