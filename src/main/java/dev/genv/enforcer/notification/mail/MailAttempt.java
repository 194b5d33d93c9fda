package dev.genv.enforcer.notification.mail;

import io.vertx.core.AbstractVerticle;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.ext.mail.MailClient;
import io.vertx.ext.mail.MailConfig;
import io.vertx.ext.mail.MailMessage;

/**
 * One attempt to send a mail. It is a verticle, because Vert.x closes the connections of a verticle when it is undeployed. The mail client
 * itself closes a connection only after the server has answered QUIT.
 */
final class MailAttempt extends AbstractVerticle {
    private final MailConfig config;
    private final MailMessage message;
    private final Promise<Void> result = Promise.promise();

    MailAttempt(MailConfig config, MailMessage message) {
        this.config = config;
        this.message = message;
    }

    /** Completes when the server has accepted the mail, or fails. */
    Future<Void> result() {
        return result.future();
    }

    @Override
    public void start() {
        MailClient.create(vertx, config)
                .sendMail(message)
                .onSuccess(_ -> result.tryComplete())
                .onFailure(result::tryFail);
    }
}
