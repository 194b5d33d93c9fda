package dev.genv.enforcer.notification.mail;

import java.time.Instant;

/**
 * A mail to one user.
 *
 * @param id the local part of its Message-ID, which stays the same for each attempt
 * @param oldest when the first of its notices was recorded
 */
record OutgoingMail(String to, String subject, String text, String id, Instant oldest) {}
