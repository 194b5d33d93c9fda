package dev.genv.enforcer.notification.webhook;

/** The form of the body of a request. */
public enum WebhookFormat {
    /** A CloudEvents 1.0 event in the structured mode, with the text as the extension attribute {@code text}. */
    CLOUDEVENTS,
    /**
     * An object with {@code text} and nothing else, for Slack and Mattermost. Mattermost refuses a CloudEvents event, because it takes its
     * {@code type} for that of the post.
     */
    TEXT
}
